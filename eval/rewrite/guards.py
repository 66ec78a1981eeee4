"""Guards on proved statements: does the statement force its answer?

A proof from premises that contradict each other, a difference that Lean cuts off at zero, or a claim that holds of any
number are proofs, and no reference answers.
"""

from __future__ import annotations

from eval.rewrite.claim import Unclear, read_claim
from eval.rewrite.final import other_claims, single_claims
from eval.rewrite.records import Rewrite
from rltpf.prover.session import LeanSession
from rltpf.prover.traps import REJECTED, TRUNCATION

REFUSED = {
    **REJECTED,
    "vacuous_part": "the premises of a part of the statement contradict each other",
    "goal_assumed": "the claim is a part of a hypothesis",
    "trivial": "both sides of the claim are the same",
    "numbers_unused": "the statement holds of any numbers, and so of any answer",
    **dict.fromkeys(sorted(TRUNCATION), "an operation has another value than among the rational numbers"),
    "wrapping_type": "numbers of this type begin again at their largest one",
    "numeral_type": "a numeral is none of a number type",
    "own_syntax": "the statement gives signs a meaning of its own",
    "own_predicate": "the statement's claim is hidden in a definition",
    "shadowed_name": "the statement gives a name of Lean a meaning of its own",
    "instance_hypothesis": "the statement assumes what its signs mean",
    "empty_domain": "a variable has no values",
    "precedence": "the statement can be read in two ways",
    "undecided": "Lean did not decide on one of the traps",
}
"""Flags of statements whose proof gives no answer."""

_CLAIMS_NOTHING = ("trivial", "goal_in_hypotheses", "goal_assumed", "numbers_unused")
"""Those that a conjunction hides where it has another part to which they do not apply."""
_WITNESS = "intros\nfirst | simp; done" + "".join(
    f" | (refine ⟨{names}, ?_⟩; first | decide +kernel | omega | grind | simp_all)"
    for names in ("_, rfl", "_, _, rfl, rfl", "_, _, _, rfl, rfl, rfl")
)
_CLAIM = "intros\nfirst | rfl | simp_all"


async def find_fault(rewrite: Rewrite, lean: LeanSession) -> tuple[tuple[str, ...], str, str]:
    """The flags of a rewrite's statement, and why it forces no answer as a code and in words, empty where it does."""
    flags = await lean.traps(rewrite.statement)
    for flag in REFUSED:
        if flag in flags:
            return flags, flag, REFUSED[flag]
    try:
        claim = read_claim(rewrite.statement)
    except Unclear:
        return flags, "", ""  # no answer will be read of it
    for single in single_claims(rewrite.statement):
        found = await lean.traps(single)
        for flag in _CLAIMS_NOTHING:
            if flag in found:
                return flags, flag, f"{REFUSED[flag]}: {single}"
    for other in other_claims(rewrite.statement):
        copied = rewrite.lean.replace(rewrite.statement, other, 1)
        if (await lean.check(other, copied)).verified or await lean.provable(
            other, _WITNESS if claim.witnessed else _CLAIM
        ):
            return flags, "not_forced", f"another answer is proved as well: {other}"
    return flags, "", ""

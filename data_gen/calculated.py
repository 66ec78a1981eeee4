"""Verdicts that need no model: an explicit calculation that Lean refutes makes an answer false.

Nothing here makes one right: whether a calculation is the one that the question asks for, no calculation tells.
"""

from __future__ import annotations

from data_gen.answers import Chain, parse_chain
from data_gen.arithmetic import calculations, wrong_calculations
from data_gen.formal import proposition, theorem
from data_gen.records import Judgement, StepVerdict
from rltpf.prover.prover import Prover
from rltpf.prover.session import LeanSession


async def refuted_calculation(lean: LeanSession, chain: Chain) -> Judgement | None:
    """The verdict on a chain with an explicit calculation whose negation Lean proves, from no hypotheses at all."""
    for index, text in enumerate(chain.texts):
        for calculation in wrong_calculations(text):
            denial = theorem(f"step_{index + 1}_denied", "", f"¬ ({proposition(calculation.claim)})")
            proof, _ = await lean.proof_of(denial, "decide +kernel")
            if proof is not None:
                verdicts = [StepVerdict(other, None, "unchecked") for other in chain.texts]
                verdicts[index] = StepVerdict(text, calculation.claim, "false", "refuted_calculation", proof)
                return Judgement("false", "refuted_calculation", tuple(verdicts), (), lean.usage)
    return None


async def judge_calculations(prover: Prover, answer: str) -> Judgement:
    """The verdict on an answer that nobody formalises: `false` or `error`, since a calculation that is right may be the
    wrong one. Raises `InfraError` where Lean failed."""
    chain = parse_chain(answer)
    if chain is None:
        return Judgement("error", "unparseable_answer", (), ())
    lean = LeanSession(prover)
    steps = tuple(StepVerdict(text, None, "error", _reason(text)) for text in chain.texts)
    return await refuted_calculation(lean, chain) or Judgement("error", "no_formaliser", steps, (), lean.usage)


def _reason(text: str) -> str:
    return "unformalised" if any(calculation.claim for calculation in calculations(text)) else "no_calculation"

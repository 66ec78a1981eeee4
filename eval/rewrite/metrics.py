"""What a rewriting reports, from its records alone: a resumed run reports what an undisturbed one does. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from eval.rewrite.prover_failures import KINDS
from eval.rewrite.records import STAGES, Candidate, ProofTry
from rltpf.records import Failure

_EXAMPLES = 3
_EXAMPLE_CHARACTERS = 600


def summarise(candidates: Sequence[Candidate], proofs: int) -> dict[str, Any]:
    """The numbers of a run; `proofs` is the k of pass@k."""
    rewrites = [rewrite for candidate in candidates for rewrite in candidate.rewrites]
    levels = sorted({candidate.level for candidate in candidates})
    return {
        "candidates": {
            "in": len(candidates),
            "kept": sum(candidate.kept for candidate in candidates),
            "ended": _ends(candidate.error for candidate in candidates),
        },
        "levels": [_level([c for c in candidates if c.level == level], level, proofs) for level in levels],
        "rewrites": {
            "tried": len(rewrites),
            "kept": sum(rewrite.kept for rewrite in rewrites),
            "ended": _ends(rewrite.error for rewrite in rewrites),
            "statements": sum(len(rewrite.statements) for rewrite in rewrites),
            "proofs": sum(len(rewrite.proofs) for rewrite in rewrites),
        },
        "prover_failures": prover_failures(proof for rewrite in rewrites for proof in rewrite.proofs),
        "lean": {
            "checks": sum(candidate.usage.checks for candidate in candidates),
            "seconds": round(sum(candidate.usage.seconds for candidate in candidates), 3),
        },
    }


def _ends(errors: Iterable[Failure | None]) -> dict[str, int]:
    """How many ended where and why, in the order of the stages."""
    counts = Counter((error.stage, error.reason) for error in errors if error is not None)
    ordered = sorted(counts, key=lambda end: (STAGES.index(end[0]), end[1]))
    return {":".join(end): counts[end] for end in ordered}


def _level(candidates: Sequence[Candidate], level: str, proofs: int) -> dict[str, Any]:
    """Generation rate of a stratum, and what it would be at least with fewer proofs allowed."""
    tries = [len(candidate.rewrites[-1].proofs) for candidate in candidates if candidate.kept]
    return {
        "level": level,
        "sampled": len(candidates),
        "retained": len(tries),
        "generation_rate": len(tries) / len(candidates),
        "pass": [sum(n <= k for n in tries) / len(candidates) for k in range(1, proofs + 1)],
    }


def prover_failures(proofs: Iterable[ProofTry]) -> dict[str, Any]:
    """How many failed proofs are of each kind, a proof of all its kinds, and the first of each as examples."""
    failed = [proof for proof in proofs if proof.kinds]
    counts = Counter(kind for proof in failed for kind in proof.kinds)
    examples = {kind: [proof for proof in failed if proof.kinds[0] == kind][:_EXAMPLES] for kind in KINDS}
    return {
        "proofs": len(failed),
        "kinds": {kind: counts[kind] for kind in KINDS if counts[kind]},
        "examples": {
            kind: [{"text": proof.text[:_EXAMPLE_CHARACTERS], "detail": proof.detail} for proof in found]
            for kind, found in examples.items()
            if found
        },
    }

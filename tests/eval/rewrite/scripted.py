"""A model that replies by role, for rewriting."""

from __future__ import annotations

import asyncio
import json
from typing import Any

from eval.rewrite.prompting import build_prompts
from eval.rewrite.records import Candidate
from eval.rewrite.rewriter import rewrite_problem
from eval.rewrite.settings import RewriteConfig
from eval.rewrite.stages import Stages
from rltpf.llm.model import Completion, Request
from rltpf.prover.prover import Prover

ORIGINAL = (
    "A box contains 6 balls, each of which is either red or blue. Among them, 4 are red. How many balls are blue?"
)
TEXT = "A hall has 16 lamps, some lit and some dark; 4 are lit. Count the dark ones."
STATEMENT = """theorem dark_lamps
    (total lit dark : Int) (h_total : total = 16) (h_lit : lit = 4) (h_dark : dark = total - lit) :
    dark = 12"""
PROOF = f"{STATEMENT} := by\n  omega"


def lean(text: str) -> str:
    return f"```lean\n{text}\n```"


class Scripted:
    """Replies by role: a reply, or a list that is used up but for its last one; what is no text is sent as JSON."""

    name = "scripted"

    def __init__(self, **replies: Any) -> None:
        self.replies: dict[str, Any] = {
            "rewriter": {"rewritten_question": TEXT},
            "screener": {"category": "applied", "analysis": "12", "verdict": "yes"},
            "formaliser": lean(STATEMENT),
            "checker": {"judgment": "Consistent", "explanation": "the same"},
            "prover": lean(PROOF),
            "extractor": {"answer": "12", "evidence": "dark = 12"},
            "classifier": {"answer": "12", "status": "final", "explanation": "asked for"},
            **replies,
        }
        self.requests: list[Request] = []

    def asked(self, role: str) -> list[Request]:
        return [request for request in self.requests if request.role == role]

    async def complete(self, request: Request) -> Completion:
        self.requests.append(request)
        reply = self.replies[request.role]
        if isinstance(reply, list):
            reply = reply.pop(0) if len(reply) > 1 else reply[0]
        return Completion(reply if isinstance(reply, str) else json.dumps(reply))

    async def close(self) -> None:
        pass


def config(**settings: Any) -> RewriteConfig:
    given = {"output_dir": "x", "dataset": {"path": "y"}, "llm": {"model": "m"}, "rewrites": 1, "formalizations": 1}
    return RewriteConfig.model_validate({**given, "proofs": 1, **settings})


def rewritten(model: Scripted, prover: Prover, sources: frozenset[str] = frozenset(), **settings: Any) -> Candidate:
    """What becomes of figure 3's problem."""
    settings_ = config(**settings)
    stages = Stages(settings_, model, build_prompts(), sources)
    candidate = Candidate("id", ORIGINAL, "2", "source", "")
    return asyncio.run(rewrite_problem(candidate, stages, prover, settings_.rewrites))


def stated(statement: str, answer: str, tactics: str = "omega", **replies: Any) -> Scripted:
    """A model that states a problem in this way, proves it with these tactics, and says whatever keeps it."""
    return Scripted(
        formaliser=lean(statement),
        prover=lean(f"{statement} := by\n  {tactics}"),
        **{
            "extractor": {"answer": answer, "evidence": statement.splitlines()[-1].strip()},
            "classifier": {"answer": answer, "status": "final", "explanation": "asked for"},
            **replies,
        },
    )


def ended(candidate: Candidate) -> str:
    return "kept" if candidate.error is None else f"{candidate.error.stage}:{candidate.error.reason}"

"""Records the demo's transcript, and checks the authored teacher against real Lean.

    python -m demo.record                                   demo/transcript.jsonl and demo/rewriting.jsonl anew, through
                                                            a real server, `rltpf generate` and `rltpf rewrite`
    python -m demo.record --only rewrite                    one of them
    python -m demo.record --check demo/teacher/part_a.yaml  what becomes of each authored question and answer

The transcripts hold what the models were asked and replied. They hold no verdict: Lean judges again at every replay.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from data_gen.answers import sample_answer
from data_gen.formalize import Formaliser
from data_gen.judge import Judge
from data_gen.records import Question
from demo.authors import Authors
from demo.server import Replying, serve
from demo.teacher import Teacher
from rltpf import smollm2
from rltpf.errors import InputError
from rltpf.journal import write_atomically
from rltpf.llm.model import Completion, Request, Sampling
from rltpf.prover import build_prover
from rltpf.prover.settings import ProverConfig
from rltpf.records import canonical_json

DEMO = Path(__file__).parent
CONFIG = "configs/generate/demo.yaml"
MODEL = "authored-teacher"


class TeacherModel:
    """The teacher as a model in this process."""

    name = MODEL

    def __init__(self, teacher: Teacher) -> None:
        self._teacher = teacher

    async def complete(self, request: Request) -> Completion:
        system, user = (message.content for message in request.messages)
        return Completion(self._teacher.reply(system, user, request.sampling.seed or 0))

    async def close(self) -> None:
        pass


class Recording(NamedTuple):
    """A command of the demo, who answers it, and where the exchanges go."""

    replies: Callable[[], Replying]
    model: str
    config: str
    transcript: str


RECORDINGS = {
    "generate": Recording(
        lambda: Teacher(sorted((DEMO / "teacher").glob("*.yaml"))), MODEL, CONFIG, "transcript.jsonl"
    ),
    "rewrite": Recording(
        lambda: Authors(DEMO / "rewriter/gsm8k.yaml"), "authored-models", "configs/rewrite/demo.yaml", "rewriting.jsonl"
    ),
}


def record(name: str) -> None:
    """Run a command of the demo against the authored server and keep the exchanges, sorted by key."""
    recording = RECORDINGS[name]
    with (
        tempfile.TemporaryDirectory() as folder,
        serve(recording.replies(), recording.model, _token_counter()) as url,
    ):
        command = [sys.executable, "-m", "rltpf", name, "--config", recording.config, "--output_dir", folder]
        command += ["--llm.backend", "openai", "--llm.base_url", url]
        subprocess.run(command, check=True, env={**os.environ, "OPENAI_API_KEY": "EMPTY"})
        rows = [json.loads(line) for line in (Path(folder) / "transcript.jsonl").read_text().splitlines()]
    rows.sort(key=lambda row: str(row["key"]))
    write_atomically(DEMO / recording.transcript, "".join(f"{canonical_json(row)}\n" for row in rows))
    print(f"{DEMO.name}/{recording.transcript}: {len(rows)} exchanges")


def _token_counter():  # type: ignore[no-untyped-def]
    """Token counts by the tokenizer of the demo's small model, since the teacher has none of its own."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(smollm2.fetch())

    @cache
    def count(text: str) -> int:
        return len(tokenizer.encode(text))

    return count


async def check(parts: list[Path]) -> int:
    """Take the authored questions of these files through the real stages; the number of surprises."""
    teacher = Teacher(parts)
    model, prover = TeacherModel(teacher), build_prover(ProverConfig(toolchain="embedded"))
    formaliser = Formaliser(model, prover, lambda role: Sampling(), 5)
    judge = Judge(model, prover, Sampling(), 5)
    surprises = 0

    def show(expected: str, found: str, text: str) -> None:
        nonlocal surprises
        surprises += expected != found
        print(f"{'  ' if expected == found else '! '}{text}", flush=True)

    for entry in teacher.entries:
        question = await formaliser.formalise(Question("", entry["question"], "", phase="s0"))
        ended = f"{question.error.stage}:{question.error.reason}" if question.error else "kept"
        tries = [attempt.reason or "ok" for attempt in question.attempts]
        found = "kept" if question.kept else "lost"
        show(entry["expect"], found, f"{ended:<22} s2 {' '.join(tries)} | {entry['question'][:70]}")
        if question.error is not None and entry["expect"] == "kept":
            print(question.error.detail)
        for number, answer in enumerate(entry["answers"] if question.kept else []):
            text = await sample_answer(model, question.question, number, Sampling())
            judgement = await judge.judge(question.question, str(question.telescope), text)
            tries = [f"{attempt.reason or 'ok'}@{attempt.first}" for attempt in judgement.attempts]
            outcomes = " ".join(step.outcome for step in judgement.steps)
            line = f"   {judgement.verdict:<9} {judgement.reason:<16} [{outcomes}] {' '.join(tries)}"
            show(answer["expect"], judgement.verdict, f"{line} {judgement.usage.seconds:.1f} s")
            if judgement.verdict != answer["expect"]:
                print(judgement.attempts[-1].complaint if judgement.attempts else "no formalisation")
    await prover.close()
    print(f"{surprises} surprises")
    return surprises


def main() -> int:
    parser = argparse.ArgumentParser(description="Record or check the demo's authored teacher.")
    parser.add_argument("--check", nargs="+", type=Path, metavar="PART")
    parser.add_argument("--only", choices=list(RECORDINGS), help="record one transcript")
    args = parser.parse_args()
    if args.check:
        return 1 if asyncio.run(check(args.check)) else 0
    for name in [args.only] if args.only else RECORDINGS:
        record(name)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except InputError as error:
        sys.exit(str(error))

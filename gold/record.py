"""Records `gold/transcript.jsonl` and `gold/formalised.jsonl` from the authored formalisations; needed after every
change of the chains or of the prompt `formalise`.

    python -m gold.record

The transcript holds what the formaliser was asked and replied. It holds no verdict: Lean judges again at every replay.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from pathlib import Path
from typing import Any

import yaml

from data_gen.config import JudgeConfig
from data_gen.judge import Judge
from data_gen.prompting import Prompts
from gold.build import CHAINS, FOLDER
from rltpf.config import load
from rltpf.journal import write_atomically
from rltpf.llm.cached import CachedModel
from rltpf.llm.model import Completion, Request
from rltpf.llm.transcript import Transcript
from rltpf.prover import build_prover
from rltpf.records import canonical_json

FORMALISED = FOLDER / "formalised.jsonl"
RECORDED = FOLDER / "transcript.jsonl"


class Author:
    """Replies to a request about an answer with the formalisation that was authored for it."""

    def __init__(self, name: str, replies: dict[str, str]) -> None:
        self.name = name
        self._replies = replies

    async def complete(self, request: Request) -> Completion:
        user = request.messages[-1].content
        return Completion(next(reply for answer, reply in self._replies.items() if answer in user))

    async def close(self) -> None:
        pass


def _reply(steps: list[dict[str, Any]]) -> str:
    rows = [
        {
            "definitions": [
                {"name": name, "type": "Rat", "value": value} for name, value in step.get("definitions", {}).items()
            ],
            "claim": step["claim"],
            "proof": None,
        }
        for step in steps
    ]
    return json.dumps({"steps": rows})


async def record(config: JudgeConfig, rows: list[dict[str, Any]], author: Author, transcript: Path) -> None:
    assert config.llm is not None
    prover = build_prover(config.prover)
    model = CachedModel(author, Transcript(transcript))
    sampling = config.llm.sampling("formaliser", seed=config.seed)
    judge = Judge(model, prover, sampling, config.repairs, Prompts(config.prompts, prover.library))
    try:
        for row in rows:
            await judge.judge(row["question"], row["formal"], row["answer"])
    finally:
        await model.close()
        await prover.close()


def main() -> None:
    chains = {row["id"]: row for row in map(json.loads, CHAINS.read_text(encoding="utf-8").splitlines())}
    entries = yaml.safe_load((FOLDER / "formalisations.yaml").read_text(encoding="utf-8"))
    rows = [{**chains[entry["id"]], "formal": entry["formal"]} for entry in entries]
    config = load(JudgeConfig, FOLDER / "judge.yaml")
    assert config.llm is not None
    replies = {row["answer"]: _reply(entry["steps"]) for row, entry in zip(rows, entries, strict=True)}
    author = Author(config.llm.model, replies)
    with tempfile.TemporaryDirectory() as folder:
        transcript = Path(folder) / "transcript.jsonl"
        asyncio.run(record(config, rows, author, transcript))
        exchanges = sorted(map(json.loads, transcript.read_text().splitlines()), key=lambda row: str(row["key"]))
    write_atomically(RECORDED, "".join(f"{canonical_json(row)}\n" for row in exchanges))
    write_atomically(FORMALISED, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    print(f"{len(rows)} rows, {len(exchanges)} exchanges")


if __name__ == "__main__":
    main()

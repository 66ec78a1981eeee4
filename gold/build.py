"""Builds the labelled set `gold/chains.jsonl` from the GSM8K solutions beside it.

    python -m gold.build

Each solution gives at most one chain, of the kind that has the fewest so far. The same solutions give the same set.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gold.mutations import MUTATIONS, Chain, read

FOLDER = Path(__file__).parent
SOLUTIONS = FOLDER / "gsm8k_test.jsonl"
CHAINS = FOLDER / "chains.jsonl"


def build(solutions: Iterable[dict[str, str]]) -> list[dict[str, Any]]:
    """The rows of the set, input and gold of `rltpf judge` in one."""
    rows: list[dict[str, Any]] = []
    counts: Counter[str] = Counter()
    for place, row in enumerate(solutions, start=1):
        solution = read(row["question"], row["answer"])
        if solution is None:
            continue
        for kind in sorted(MUTATIONS, key=lambda kind: counts[kind]):
            chain = MUTATIONS[kind](solution, random.Random(f"{place} {kind}"))
            if chain is not None:
                counts[kind] += 1
                rows.append(_row(f"gsm8k-test-{place}", kind, row["question"], chain))
                break
    return rows


def _row(name: str, kind: str, question: str, chain: Chain) -> dict[str, Any]:
    steps = [f"Step {number}: {line}" for number, line in enumerate(chain.lines, start=1)]
    texts = [*chain.lines, f"The answer is {chain.answer}."]
    return {
        "id": name,
        "kind": kind,
        "question": question,
        "answer": "\n".join([*steps, texts[-1]]),
        "gold": [{"text": text, "label": label} for text, label in zip(texts, chain.labels, strict=True)],
    }


def main() -> None:
    solutions = [json.loads(line) for line in SOLUTIONS.read_text(encoding="utf-8").splitlines()]
    rows = build(solutions)
    CHAINS.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    kinds = Counter(row["kind"] for row in rows)
    print(
        f"{len(rows)} chains from {len(solutions)} solutions: {', '.join(f'{n} {kind}' for kind, n in kinds.items())}"
    )


if __name__ == "__main__":
    main()

"""What `rltpf sensitivity` writes: the numbers, a page and its heat maps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from eval import sections
from eval.confounds import measure
from eval.pairs import match, read_set
from eval.plots import draw_sensitivity
from eval.sensitivity import compare, correlations, mean_drops

NUMBERS = "sensitivity.json"
PLOT = "sensitivity.png"


def write(rewritten: Path, scores: Mapping[str, tuple[Path, Path]], verdict: str, output: Path) -> str:
    """Compare each model's two evaluations on the pairs of a set, write all into `output`; the summary in one sentence.

    `verdict` is what counts as right, such as `math_verify`. Raises `InputError` as `eval.pairs` does.
    """
    scored, pairs = match(read_set(rewritten), scores, f"correct_{verdict}")
    compared = compare(scored)
    related = correlations(mean_drops(scored), {name: measure(pair) for name, pair in pairs.items()})
    output.mkdir(parents=True, exist_ok=True)
    found = {"verdict": verdict, "models": compared, "confounds": related}
    (output / NUMBERS).write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    draw_sensitivity(compared, output / PLOT)
    parts = [sections.sensitivity(compared, PLOT), sections.confounds(related)]
    text = "\n\n".join(f"## {part.title}\n\n{part.body}" for part in parts)
    (output / "sensitivity.md").write_text(f"# Sensitivity, {verdict}\n\n{text}\n", encoding="utf-8")
    return parts[0].summary

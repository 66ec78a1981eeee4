"""The plots of figures 4 to 7 of RePro, drawn to PNG files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.plots import INK, PALETTE, blank_figure, plain, style
from eval.quality.metrics import ALL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PANELS = (("well_defined", "Well-defined"), ("feasible", "Feasible"), ("correct", "Answer correct"))


def draw_quality(runs: Mapping[str, Mapping[str, Mapping[str, int]]], path: Path) -> None:
    """Figure 7: for each criterion the share of the judged problems, methods side by side at each level."""
    levels = list(dict.fromkeys(level for found in runs.values() for level in found if level != ALL)) or [ALL]
    drawn = blank_figure(3.2 + 1.1 * len(levels), 7.5)
    for axes, (name, title) in zip(drawn.subplots(3, 1), _PANELS, strict=True):
        series = {run: [_share(found.get(level), name) for level in levels] for run, found in runs.items()}
        _bars(axes, f"{title}, % of the rewritten problems", levels, series)
    drawn.savefig(path)


def draw_generation(metrics: Mapping[str, Mapping[str, Any]], path: Path) -> None:
    """Figures 4 and 5: generation rates of the runs side by side in each stratum."""
    levels = list(dict.fromkeys(level["level"] for found in metrics.values() for level in found["levels"]))
    rates = {
        run: {level["level"]: 100 * level["generation_rate"] for level in found["levels"]}
        for run, found in metrics.items()
    }
    drawn = blank_figure(3.2 + 1.1 * len(levels), 3.2)
    series = {run: [known.get(level) for level in levels] for run, known in rates.items()}
    _bars(drawn.subplots(), "Generation rate, %", [level or ALL for level in levels], series)
    drawn.savefig(path)


def draw_passes(metrics: Mapping[str, Mapping[str, Any]], path: Path) -> None:
    """Figure 6: for each run that proves, generation rates in each stratum at each number of proofs."""
    proving = {run: found["levels"] for run, found in metrics.items() if found["levels"][0]["pass"]}
    drawn = blank_figure(3.2 + 1.1 * max(map(len, proving.values())), 3.0 * len(proving))
    for axes, (run, levels) in zip(drawn.subplots(len(proving), 1, squeeze=False)[:, 0], proving.items(), strict=True):
        numbers = range(1, len(levels[0]["pass"]) + 1)
        series = {f"pass@{k}": [100 * level["pass"][k - 1] for level in levels] for k in numbers}
        _bars(axes, f"{run}: generation rate, %", [level["level"] or ALL for level in levels], series)
    drawn.savefig(path)


def _share(counts: Mapping[str, int] | None, name: str) -> float | None:
    return 100 * counts[name] / counts["judged"] if counts and counts["judged"] else None


def _bars(axes: Axes, title: str, levels: Sequence[str], series: Mapping[str, Sequence[float | None]]) -> None:
    """A group for each level and a bar for each series; what is not known has none."""
    style(axes, title, "", "")
    width = 0.8 / len(series)
    for number, (name, values) in enumerate(series.items()):
        places = [place + width * (number - (len(series) - 1) / 2) for place in range(len(levels))]
        bars = [(place, value) for place, value in zip(places, values, strict=True) if value is not None]
        colour = PALETTE[number % len(PALETTE)]
        drawn = axes.bar([place for place, _ in bars], [value for _, value in bars], width * 0.92, color=colour)
        drawn.set_label(plain(name))
        axes.bar_label(drawn, fmt="%.0f", fontsize=7, color=INK)
    axes.set_ylim(0, 108)
    axes.set_xticks(range(len(levels)), [plain(level) for level in levels])
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, fontsize=9)

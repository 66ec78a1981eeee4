"""The plots of runs side by side, drawn to PNG files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.plots import BLUE, ERROR, FALSE, INK, PALETTE, VERIFIED, blank_figure, plain, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from eval.comparison import Run

_VERDICTS = (("verified", VERIFIED), ("false", FALSE), ("error", ERROR))


def draw(runs: Sequence[Run], output: Path) -> list[str]:
    """Draw what the runs give, verdicts, losses and scores, as `output/*.png`; a line of Markdown for each plot."""
    lines = []
    for title, name, drawn in (
        ("Verdicts", "verdicts", _draw_verdicts(runs, output / "verdicts.png")),
        ("Training losses", "losses", _draw_losses(runs, output / "losses.png")),
        ("Scores", "scores", _draw_scores(runs, output / "scores.png")),
    ):
        if drawn:
            lines.append(f"![{title}]({name}.png)")
    return lines


def _draw_verdicts(runs: Sequence[Run], path: Path) -> bool:
    """A bar for each run of data, its answers by verdict, in percent."""
    answered = {str(run.folder): run.data.metrics["answers"] for run in runs if run.data}
    bars = {name: answers for name, answers in answered.items() if answers["in"]}
    if not bars:
        return False
    figure = blank_figure(7.2, 1.0 + 0.45 * len(bars))
    axes = figure.subplots()
    style(axes, "Answers by Lean's verdict", "% of the answers", "")
    axes.grid(visible=False)
    for place, answers in enumerate(bars.values()):
        left = 0.0
        for verdict, colour in _VERDICTS:
            width = 100 * answers[verdict] / answers["in"]
            axes.barh(place, width, 0.66, left=left, color=colour, label=verdict if place == 0 else None)
            if width >= 5:
                white = "white" if colour != ERROR else INK
                axes.text(left + width / 2, place, f"{width:.0f}", ha="center", va="center", color=white)
            left += width
    _names(axes, list(bars))
    axes.set_xlim(0, 100)
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
    figure.savefig(path)
    return True


def _draw_losses(runs: Sequence[Run], path: Path) -> bool:
    """A panel for each kind of training, since their losses are different measures, and a curve for each run."""
    kinds = list(dict.fromkeys(kind for run in runs for kind in run.losses))
    if not kinds:
        return False
    figure = blank_figure(4.6 * len(kinds) + 1.2, 3.4)
    for axes, kind in zip(figure.subplots(1, len(kinds), squeeze=False)[0], kinds, strict=True):
        style(axes, f"{kind}: loss", "step", "nats")
        for number, run in enumerate(runs):
            if kind in run.losses:
                steps, losses = run.losses[kind]
                marker = "o" if len(steps) <= 40 else None
                colour = PALETTE[number % len(PALETTE)]
                axes.plot(steps, losses, color=colour, linewidth=1.8, marker=marker, markersize=3.5)
                axes.lines[-1].set_label(plain(str(run.folder)))
        axes.margins(x=0.03, y=0.12)
        axes.legend(frameon=False, fontsize=8)
    figure.savefig(path)
    return True


def _draw_scores(runs: Sequence[Run], path: Path) -> bool:
    """A panel for each benchmark, since scores of different ones do not compare: each evaluation's strict and lenient
    score, with its 95 % interval."""
    panels: dict[str, dict[str, Mapping[str, Any]]] = {}
    for run in runs:
        for name, part in run.evaluations.items():
            benchmark = part.metrics["benchmark"]
            panel = f"{benchmark['name']} v{benchmark['version']}, {benchmark['path']}"
            panels.setdefault(panel, {})[f"{run.folder} {name}".rstrip()] = part.metrics["scores"]
    if not panels:
        return False
    heights = [len(scores) for scores in panels.values()]
    figure = blank_figure(7.2, 0.4 + 0.9 * len(panels) + 0.45 * sum(heights))
    for axes, (title, scores) in zip(
        figure.subplots(len(panels), 1, squeeze=False, height_ratios=[height + 1 for height in heights])[:, 0],
        panels.items(),
        strict=True,
    ):
        style(axes, plain(title), "%", "")
        axes.grid(axis="x", color="#E6E6E6", linewidth=0.8)
        for shift, (verdict, colour) in zip((-0.12, 0.12), (("strict", BLUE), ("lenient", VERIFIED)), strict=True):
            found = [score[verdict] for score in scores.values()]
            axes.errorbar(
                [100 * score["pass@1"] for score in found],
                [place + shift for place in range(len(found))],
                # Rounding puts the bound of all right a little below 1, which matplotlib refuses.
                xerr=[
                    [max(0.0, 100 * (score["pass@1"] - score["interval_95"][0])) for score in found],
                    [max(0.0, 100 * (score["interval_95"][1] - score["pass@1"])) for score in found],
                ],
                fmt="o", color=colour, capsize=3, label=f"{verdict}, with its 95 % interval",
            )  # fmt: skip
        _names(axes, list(scores))
        axes.set_xlim(-2, 102)  # a mark at 0 or 100 is seen whole
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", frameon=False, fontsize=9, ncols=2)
    figure.savefig(path)
    return True


def _names(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), [plain(name) for name in names])
    axes.set_ylim(len(names) - 0.5, -0.5)

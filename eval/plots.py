"""The report's plots: pure functions that shape the series, and functions that draw them to PNG files."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette: told apart by colour-blind readers too.
VERIFIED, FALSE, ERROR, INK, BLUE = "#009E73", "#D55E00", "#C4C4C4", "#333333", "#0072B2"
PALETTE = (BLUE, "#E69F00", VERIFIED, "#CC79A7", "#56B4E9", FALSE, ERROR)
"""For series that have no colour of their own."""


def curve(log_history: Sequence[Mapping[str, Any]], key: str) -> tuple[list[int], list[float]]:
    """Steps and values of one logged quantity; rows that lack it (TRL's last row is a summary) are left out."""
    points = [(row["step"], row[key]) for row in log_history if key in row]
    return [step for step, _ in points], [value for _, value in points]


@dataclass(frozen=True)
class IterationSeries:
    """Percentages of the formalised chains by iteration of algorithm 1; verified, false and open add up to 100."""

    iterations: list[int]
    verified: list[float]
    false: list[float]
    open: list[float]
    execution: list[float]
    """Chains that Lean can read after this iteration: decided in an earlier one, or elaborating whole in this one."""
    tokens: list[float]
    """The mean length of what the formaliser wrote in this iteration, in tokens (the paper's table 6)."""


def by_iteration(rows: Sequence[Mapping[str, int]]) -> IterationSeries:
    """Cumulative shares from the rows of a generate run's `iterations`."""
    series = IterationSeries([], [], [], [], [], [])
    chains = rows[0]["chains"] if rows else 0
    verified = false = 0
    for row in rows:
        execution = verified + false + row["chains_elaborated"]
        verified += row["verified"]
        false += row["false"]
        series.iterations.append(row["iteration"])
        series.verified.append(100 * verified / chains)
        series.false.append(100 * false / chains)
        series.open.append(100 * (chains - verified - false) / chains)
        series.execution.append(100 * execution / chains)
        series.tokens.append(row["tokens"] / row["chains"])
    return series


@dataclass(frozen=True)
class FunnelBar:
    """Questions that passed a phase, and those lost in it as (reason, count), the most frequent first."""

    phase: str
    passed: int
    lost: tuple[tuple[str, int], ...]


def funnel(metrics: Mapping[str, Any]) -> list[FunnelBar]:
    """A bar for the questions that came in and one for each phase, from a generate run's metrics."""
    bars = [FunnelBar("in", metrics["questions"]["in"], ())]
    for row in metrics["phases"]:
        lost = {
            key.partition(":")[2]: count
            for key, count in metrics["questions"]["lost"].items()
            if key.partition(":")[0] == row["phase"]
        }
        bars.append(
            FunnelBar(row["phase"], row["out"], tuple(sorted(lost.items(), key=lambda item: (-item[1], item[0]))))
        )
    return bars


def draw_training(sft: Sequence[Mapping[str, Any]] | None, dpo: Sequence[Mapping[str, Any]] | None, path: Path) -> None:
    """SFT loss, DPO loss and DPO reward margins by step, one panel each; a training that did not run has no panel."""
    panels: list[tuple[str, str, tuple[list[int], list[float]], float | None, str]] = []
    if sft is not None:
        panels.append(("SFT loss", "loss (nats per token)", curve(sft, "loss"), None, ""))
    if dpo is not None:
        panels.append(("DPO loss", "loss (nats per pair)", curve(dpo, "loss"), math.log(2), "no preference: ln 2"))
        panels.append(
            ("DPO reward margin", "chosen minus rejected reward", curve(dpo, "rewards/margins"), 0.0, "no preference")
        )
    figure = blank_figure(4.4 * len(panels), 3.2)
    for axes, (title, label, (steps, values), reference, meaning) in zip(
        figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True
    ):
        style(axes, title, "step", label)
        axes.plot(steps, values, color=BLUE, linewidth=1.8, marker="o" if len(steps) <= 40 else None, markersize=3.5)
        axes.margins(x=0.03, y=0.12)
        if reference is not None:
            axes.axhline(reference, color=INK, linewidth=0.9, linestyle=(0, (4, 3)))
            axes.annotate(
                meaning,
                (0.99, reference),
                xycoords=("axes fraction", "data"),
                xytext=(0, 3),
                textcoords="offset points",
                ha="right",
                va="bottom",
                fontsize=8,
                color=INK,
            )
    figure.savefig(path)


def draw_verdicts(series: IterationSeries, chains: int, path: Path) -> None:
    """Stacked bars of the verdicts after each iteration with the execution rate over them; below, the lengths."""
    figure = blank_figure(7.2, 5.4)
    axes, lengths = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    style(axes, f"Verdicts on the {chains} answers that were formalised, after each iteration", "", "% of answers")
    style(lengths, "What the formaliser wrote", "", "tokens a reply")
    lengths.bar(range(len(series.tokens)), series.tokens, 0.62, color=BLUE)
    lengths.bar_label(lengths.containers[0], fmt="%.0f", color=INK, padding=2)
    lengths.margins(y=0.22)
    positions = range(len(series.iterations))
    bottom = [0.0] * len(series.iterations)
    for label, values, colour in (
        ("verified", series.verified, VERIFIED),
        ("false", series.false, FALSE),
        ("error (no verdict)", series.open, ERROR),
    ):
        axes.bar(positions, values, 0.62, bottom=bottom, color=colour, label=label)
        for position, value, base in zip(positions, values, bottom, strict=True):
            # The rest is what is missing to 100, and its place belongs to the execution rate's numbers.
            if colour != ERROR and value >= 5:
                axes.text(position, base + value / 2, f"{value:.0f}", ha="center", va="center", color="white")
        bottom = [base + value for base, value in zip(bottom, values, strict=True)]
    axes.plot(positions, series.execution, color=INK, marker="o", markersize=5, linewidth=1.6, label="execution rate")
    for position, value in zip(positions, series.execution, strict=True):
        axes.annotate(
            f"{value:.0f}",
            (position, value),
            xytext=(0, 6),
            textcoords="offset points",
            ha="center",
            color=INK,
            fontweight="bold",
        )
    axes.set_xticks(positions, [_iteration_name(iteration) for iteration in series.iterations])
    axes.set_ylim(0, 106)  # room for the numbers of a rate near 100
    axes.set_yticks(range(0, 101, 20))
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, reverse=True)
    figure.savefig(path)


def draw_funnel(bars: Sequence[FunnelBar], names: Mapping[str, str], path: Path) -> None:
    """Questions left after each phase, with what was lost there and why; `names` says what each phase is."""
    figure = blank_figure(7.2, 0.6 + 0.48 * len(bars))
    axes = figure.subplots()
    style(axes, "Questions left after each phase", "questions", "")
    whole = bars[0].passed
    positions = range(len(bars))
    axes.barh(positions, [whole] * len(bars), 0.66, color="#EFEFEF")
    axes.barh(positions, [bar.passed for bar in bars], 0.66, color=BLUE)
    for position, bar in zip(positions, bars, strict=True):
        axes.text(whole * 0.012, position, str(bar.passed), va="center", ha="left", color="white", fontweight="bold")
        reasons = ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in bar.lost)
        if reasons:
            label = textwrap.fill(f"lost: {reasons}", 44)
            axes.text(whole * 1.015, position, label, va="center", ha="left", color=FALSE, fontsize=9)
    axes.set_yticks(positions, [names[bar.phase] for bar in bars])
    axes.invert_yaxis()
    axes.set_xlim(0, whole)
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False)
    figure.savefig(path)


def draw_sensitivity(compared: Mapping[str, Mapping[str, Mapping[str, Any]]], path: Path) -> None:
    """Four heat maps, models by levels: accuracy on originals and on rewritings, absolute and relative change."""
    models = list(compared)
    levels = list(dict.fromkeys(level for found in compared.values() for level in found))
    panels = (
        ("accuracy on originals, %", "original", 100, "YlGn", (0.0, 100.0)),
        ("accuracy on rewritings, %", "rewritten", 100, "YlGn", (0.0, 100.0)),
        ("change, percentage points", "absolute", 1, "RdYlGn", None),
        ("change, % of the original accuracy", "relative", 1, "RdYlGn", None),
    )
    figure = blank_figure(4.2 + 1.7 * len(levels), 2 * (1.1 + 0.42 * len(models)))
    for axes, (title, key, scale, colours, limits) in zip(figure.subplots(2, 2).flat, panels, strict=True):
        cells = [[_cell(compared[model], level, key, scale) for level in levels] for model in models]
        known = [abs(value) for row in cells for value in row if not math.isnan(value)]
        # Changes are coloured around 0, so that the sign can be seen.
        bound = max([*known, 1.0])
        low, high = limits or (-bound, bound)
        axes.imshow(cells, cmap=colours, vmin=low, vmax=high, aspect="auto")
        for i, row in enumerate(cells):
            for j, value in enumerate(row):
                text = "-" if math.isnan(value) else f"{value:.1f}" if limits else f"{value:+.1f}"
                dark = not math.isnan(value) and (abs(value) > 0.7 * bound if limits is None else value > 60)
                axes.text(j, i, text, ha="center", va="center", color="white" if dark else INK, fontsize=9)
        axes.set_title(title, loc="left", fontsize=10, color=INK)
        axes.set_xticks(range(len(levels)), levels)
        axes.set_yticks(range(len(models)), models)
        axes.tick_params(length=0, labelsize=9, colors=INK)
        axes.spines[:].set_visible(False)
    figure.savefig(path)


def _cell(found: Mapping[str, Mapping[str, Any]], level: str, key: str, scale: float) -> float:
    value = found[level][key] if level in found else None
    return math.nan if value is None else scale * value


def _iteration_name(iteration: int) -> str:
    return "first try" if iteration == 1 else f"repair {iteration - 1}"


def blank_figure(width: float, height: float) -> Figure:
    """A figure of its own, in inches: pyplot's global state would leak figures and needs a display to be chosen."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    return Figure(figsize=(width, height), dpi=150, layout=ConstrainedLayoutEngine(wspace=0.06))


def style(axes: Axes, title: str, x_label: str, y_label: str) -> None:
    axes.set_title(title, loc="left", fontsize=11, color=INK)
    axes.set_xlabel(x_label, color=INK)
    axes.set_ylabel(y_label, color=INK)
    axes.grid(axis="y", color="#E6E6E6", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK, labelsize=9)


def plain(label: str) -> str:
    """matplotlib reads what is between two dollars as TeX, and leaves out of the legend what begins with a line."""
    return label.replace("$", r"\$").lstrip("_") or "-"

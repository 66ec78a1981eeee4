"""How models suffer from a rewriting of the same problems: paired scores, their spread, and what else may explain them.

Source: RePro, section 5.3 and appendix I; specification: repro, section 3. The interval and the test are ours.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eval.confounds import CONFOUNDS

RESAMPLES = 10_000
ALL = "all"
"""The level that holds the pairs of every level."""


@dataclass(frozen=True)
class Scored:
    """One pair of one model: the share of right replies to the original and to the rewriting, 0 or 1 for one reply."""

    model: str
    pair: str
    level: str
    original: float
    rewritten: float


def compare(scored: Sequence[Scored]) -> dict[str, dict[str, dict[str, Any]]]:
    """For each model and level, and for all levels together: accuracies, their change with a paired bootstrap interval,
    and McNemar's test.

    `absolute` is the change in percentage points, `relative` in percent of the original accuracy, None where that is 0.
    `p_value` is exact and two-sided, of the pairs whose verdicts are 0 or 1; None where a share is neither.
    """
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for model in dict.fromkeys(item.model for item in scored):
        own = [item for item in scored if item.model == model]
        levels = sorted({item.level for item in own}) if len({item.level for item in own}) > 1 else []
        found[model] = {
            level: _compared([item for item in own if level in (ALL, item.level)]) for level in (*levels, ALL)
        }
    return found


def _compared(items: Sequence[Scored]) -> dict[str, Any]:
    original = sum(item.original for item in items) / len(items)
    rewritten = sum(item.rewritten for item in items) / len(items)
    change = rewritten - original
    low, high = bootstrap([item.rewritten - item.original for item in items])
    return {
        "n": len(items),
        "original": original,
        "rewritten": rewritten,
        "absolute": 100 * change,
        "relative": 100 * change / original if original else None,
        "interval_95": [100 * low, 100 * high],
        **_mcnemar(items),
    }


def bootstrap(differences: Sequence[float], resamples: int = RESAMPLES, seed: int = 0) -> tuple[float, float]:
    """The 95 % percentile interval of the mean of paired differences, from resamples of the pairs."""
    generator = random.Random(seed)
    n = len(differences)
    means = sorted(sum(generator.choices(differences, k=n)) / n for _ in range(resamples))
    return means[math.floor(0.025 * (resamples - 1))], means[math.ceil(0.975 * (resamples - 1))]


def _mcnemar(items: Sequence[Scored]) -> dict[str, Any]:
    if any(value not in (0, 1) for item in items for value in (item.original, item.rewritten)):
        return {"lost": None, "gained": None, "p_value": None}
    lost = sum(item.original > item.rewritten for item in items)
    gained = sum(item.rewritten > item.original for item in items)
    return {"lost": lost, "gained": gained, "p_value": mcnemar(lost, gained)}


def mcnemar(lost: int, gained: int) -> float:
    """Exact two-sided p-value that as many pairs are lost as gained: twice the binomial tail at 1/2, at most 1."""
    n = lost + gained
    tail = sum(math.comb(n, k) for k in range(min(lost, gained) + 1))
    return min(1.0, 2 * tail / 2**n)


def mean_drops(scored: Sequence[Scored]) -> dict[str, float]:
    """For each pair the mean over models of original minus rewritten."""
    drops: dict[str, list[float]] = {}
    for item in scored:
        drops.setdefault(item.pair, []).append(item.original - item.rewritten)
    return {pair: sum(values) / len(values) for pair, values in drops.items()}


def correlations(
    drops: Mapping[str, float], confounds: Mapping[str, Mapping[str, float | None]]
) -> dict[str, dict[str, Any]]:
    """Spearman's rho of every confound with the mean drop, over the pairs that have both, and their number.

    None where fewer than three pairs have it, or where it or the drop is the same for all.
    """
    from scipy.stats import spearmanr

    found = {}
    for name in CONFOUNDS:
        points = [(value, drops[pair]) for pair in drops if (value := confounds[pair][name]) is not None]
        values, changes = [point[0] for point in points], [point[1] for point in points]
        rho = p_value = None
        if len(points) > 2 and len(set(values)) > 1 and len(set(changes)) > 1:
            result = spearmanr(values, changes)
            rho, p_value = float(result.statistic), float(result.pvalue)
        found[name] = {"rho": rho, "p_value": p_value, "n": len(points)}
    return found

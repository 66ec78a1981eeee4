"""The sections of a run's report, as pure functions from what the run's folders hold to Markdown."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eval.plots import by_iteration, curve, funnel
from eval.score import paired_difference
from rltpf import markdown as md

PHASES = {
    "in": "questions in",
    "s0": "s0: question in prose",
    "s1": "s1: symbolic form",
    "s2": "s2: Lean statement",
    "s3": "s3: told again in prose",
    "s4": "s4: aligned with s0",
}

VERDICT_NAMES = {"strict": "strict", "lenient": "lenient", "math_verify": "math-verify", "rpe": "RPE"}


@dataclass(frozen=True)
class Section:
    """A titled part of the report; `summary` is its one sentence at the top of the report, empty for none."""

    title: str
    body: str
    summary: str = ""


@dataclass(frozen=True)
class Score:
    """One evaluated model: its `metrics.json`, and for each verdict and row id the share of right replies."""

    name: str
    metrics: Mapping[str, Any]
    right: Mapping[str, Mapping[str, float]]


def questions(metrics: Mapping[str, Any], plot: str) -> Section:
    """The funnel s0 to s4 and the three rates, always together: what compiles need not mean the question."""
    asked, kept = metrics["questions"]["in"], metrics["questions"]["kept"]
    entered = {row["phase"]: row["in"] for row in metrics["phases"]}
    passed = {row["phase"]: row["out"] for row in metrics["phases"]}
    elaborated = passed["s2"] + metrics["questions"]["lost"].get("s2:contradictory", 0)
    rows = [
        (PHASES[bar.phase], entered[bar.phase], bar.passed, ", ".join(f"{n} {reason}" for reason, n in bar.lost) or "-")
        for bar in funnel(metrics)[1:]
    ]
    rates = (
        f"formalised {md.share(passed['s1'], asked)}, elaborated {md.share(elaborated, asked)}, "
        f"aligned {md.share(passed['s4'], asked)}"
    )
    body = "\n\n".join(
        [
            md.table(("phase", "in", "passed", "lost, by reason"), rows),
            f"Of {asked} questions: {rates}. *Formalised*: a symbolic form was written; *elaborated*: Lean accepts the "
            "statement; *aligned*: a judge that compared the question with the retold statement said yes. "
            "A statement that elaborates need not mean what the question asks, so the three belong together.",
            f"![Questions left after each phase]({plot})",
        ]
    )
    return Section("Questions", body, f"{asked} questions went in and {kept} were kept: {rates}.")


def verdicts(metrics: Mapping[str, Any], plot: str) -> Section:
    """The verdict table, the repairs iteration by iteration, and the allocation to training sets."""
    answers, rows, fates = metrics["answers"], metrics["iterations"], metrics["allocation"]
    lengths = metrics["lengths"]["words"]
    counts = [
        (verdict, answers[verdict], md.share(answers[verdict], answers["in"]))
        for verdict in ("verified", "false", "error")
    ]
    parts = [
        md.table(
            ("verdict", "answers", "share"), [*counts, ("all", answers["in"], md.share(answers["in"], answers["in"]))]
        )
    ]
    if answers["reasons"]:
        reasons = sorted(answers["reasons"].items(), key=lambda item: (-item[1], item[0]))
        parts.append("Errors by reason: " + ", ".join(f"{n} {key.removeprefix('error:')}" for key, n in reasons) + ".")
    summary = f"Lean judged {answers['in']} answers step by step: " + ", ".join(
        f"{n} {verdict}" for verdict, n, _ in counts
    )
    if rows:
        series = by_iteration(rows)
        lines = [
            (
                row["iteration"],
                row["chains"],
                md.share(row["chains_elaborated"], row["chains"]),
                md.share(row["steps_elaborated"], row["steps"]),
                row["verified"],
                row["false"],
                row["error"],
                f"{execution:.1f} %",
                f"{100 - undecided:.1f} %",
                f"{tokens:.0f}",
            )
            for row, execution, undecided, tokens in zip(
                rows, series.execution, series.open, series.tokens, strict=True
            )
        ]
        header = (
            "iteration", "answers tried", "elaborate", "steps elaborate", "verified", "false", "left as error",
            "execution rate", "decided", "tokens a reply",
        )  # fmt: skip
        parts += [
            md.table(header, lines),
            f"Of {answers['in']} answers, {rows[0]['chains']} were formalised; the others ended before, such as at a "
            "calculation that Lean refuted. Iteration 1 is the first formalisation, every later one a repair of what "
            "was left as error, from the step that failed on. *Execution rate* and *decided* are cumulative, of the "
            "answers that were formalised; the other columns are of that iteration alone. The *execution rate* counts "
            "answers decided in an earlier iteration or elaborating whole in this one; *decided* ones are verified or "
            "false.",
            _repairs(rows),
            f"![Verdicts and execution rate by iteration]({plot})",
        ]
        summary += f"; repairs took the execution rate from {series.execution[0]:.1f} % to {series.execution[-1]:.1f} %"
    parts.append(
        md.table(
            ("allocation", "count"),
            [
                ("SFT rows (verified answers of questions without a false one)", fates["sft_rows"]),
                ("DPO pairs (verified over false)", fates["dpo_pairs"]),
                *((f"mean words, {side}", words["mean"]) for side, words in lengths.items() if words),
                ("questions discarded (no verified answer to pair)", fates["discarded_questions"]),
                ("questions in neither set (an answer ended as error)", fates["error_questions"]),
            ],
        )
    )
    summary += f". {fates['sft_rows']} SFT rows and {fates['dpo_pairs']} DPO pairs came out."
    return Section("Verdicts", "\n\n".join(parts), summary)


def _repairs(rows: Sequence[Mapping[str, int]]) -> str:
    decided = [row["verified"] + row["false"] for row in rows]
    needed = ", ".join(f"{n} needed {'no repair' if i == 0 else f'{i}'}" for i, n in enumerate(decided) if n)
    return f"Repairs that it took: of {sum(decided)} decided answers, {needed}." if needed else "No answer was decided."


def examples(answers: Sequence[Mapping[str, Any]]) -> Section:
    """A verified and a false answer with the Lean text that carries the verdict, to one question if there is one."""
    verified = [answer for answer in answers if answer["verdict"] == "verified"]
    false = [answer for answer in answers if answer["verdict"] == "false"]
    contrast = next(((v, f) for f in false for v in verified if v["question"] == f["question"]), None)
    chosen = contrast or (*verified[:1], *false[:1])
    return Section("Examples", "\n\n".join(_example(answer) for answer in chosen) or "No answer was verified or false.")


def _example(answer: Mapping[str, Any]) -> str:
    steps = [
        (md.text(step["text"]), md.code(step["claim"]) if step["claim"] else "-", step["outcome"])
        for step in answer["steps"]
    ]
    return "\n\n".join(
        [
            f"### An answer that is {answer['verdict']}",
            "> " + md.text(answer["question"]),
            md.table(("step", "claim in Lean", "outcome"), steps),
            "What Lean checked"
            + (", last the proof that the step's claim is wrong:" if answer["verdict"] == "false" else ":"),
            md.block(answer["lean"], "lean"),
        ]
    )


def training(sft: Sequence[Mapping[str, Any]] | None, dpo: Sequence[Mapping[str, Any]] | None, plot: str) -> Section:
    """First and last logged values of each training."""
    rows = []
    sentences = []
    for name, log in (("SFT", sft), ("DPO", dpo)):
        if log is None:
            continue
        steps, losses = curve(log, "loss")
        margins, accuracies = curve(log, "rewards/margins")[1], curve(log, "rewards/accuracies")[1]
        seconds = curve(log, "train_runtime")[1]
        rows.append(
            (
                name,
                steps[-1],
                f"{losses[0]:.3f}",
                f"{losses[-1]:.3f}",
                f"{margins[-1]:.3f}" if margins else "-",
                f"{accuracies[-1]:.2f}" if accuracies else "-",
                f"{seconds[-1]:.0f}" if seconds else "-",
            )
        )
        sentences.append(f"{name} ran {steps[-1]} steps, loss {losses[0]:.3f} to {losses[-1]:.3f}")
    header = ("training", "steps", "first loss", "last loss", "last reward margin", "last reward accuracy", "seconds")
    body = f"{md.table(header, rows)}\n\n![Training curves]({plot})"
    return Section("Training", body, "; ".join(sentences) + ".")


def scores(entries: Sequence[Score], title: str = "Scores") -> Section:
    """The score table, and every pair of models on the same rows compared by their paired differences."""
    verdicts = [verdict for verdict in VERDICT_NAMES if any(verdict in entry.metrics["scores"] for entry in entries)]
    rows = [
        (
            entry.name,
            f"{entry.metrics['benchmark']['name']} v{entry.metrics['benchmark']['version']}",
            entry.metrics["n"],
            *(percent(entry.metrics["scores"].get(verdict)) for verdict in verdicts),
            f"{entry.metrics['no_answer']['strict']} / {entry.metrics['no_answer']['lenient']}",
            entry.metrics["cut_by_max_tokens"],
        )
        for entry in entries
    ]
    header = (
        "model", "benchmark", "rows", *(VERDICT_NAMES[verdict] for verdict in verdicts), "no answer (strict / lenient)",
        "cut by max_tokens",
    )  # fmt: skip
    parts = [
        md.table(header, rows),
        "Greedy pass@1 in percent, with its standard error and 95 % interval. *Strict* reads only the agreed forms of "
        "a final answer, *lenient* falls back to the last number; both compare exactly. *Math-verify* compares the "
        "lenient reading as mathematics."
        + (" *RPE* compares it in Lean, where both answers are expressions." if "rpe" in verdicts else ""),
    ]
    strict = ", ".join(f"{entry.name} {percent(entry.metrics['scores']['strict'])}" for entry in entries)
    summary = f"{title}, greedy pass@1, strict, in percent: {strict}."
    pairs = [pair for pair in itertools.combinations(entries, 2) if _comparable(*pair)]
    if not pairs:
        return Section(title, "\n\n".join(parts), summary)
    beyond = []
    lines = []
    for before, after in pairs:
        cells = []
        for verdict in ("correct_strict", "correct_lenient"):
            ids = sorted(before.right[verdict])
            change, error = paired_difference(
                [before.right[verdict][id] for id in ids], [after.right[verdict][id] for id in ids]
            )
            cells.append(f"{100 * change:+.1f} ± {100 * error:.1f}")
            if abs(change) > 2 * error:
                beyond.append(f"{before.name} to {after.name} ({verdict.removeprefix('correct_')})")
        lines.append((f"{before.name} to {after.name}", *cells))
    n = len(pairs[0][0].right["correct_strict"])
    if beyond:
        reading = f"Beyond twice its standard error: {', '.join(beyond)}. Every other difference is within noise."
    else:
        reading = f"No difference exceeds twice its standard error: {n} rows do not tell these models apart."
    parts += [
        md.table(("change, percentage points", "strict", "lenient"), lines),
        "Differences are paired by row, which is why their standard errors are not those of the table above. "
        + reading,
    ]
    return Section(title, "\n\n".join(parts), f"{summary} {reading}")


def percent(score: Mapping[str, Any] | None) -> str:
    """A score in percent as a table has it, with its standard error and 95 % interval; `-` for none.

    Of few rows that are all wrong, or all right, the standard error is 0 and the interval wide.
    """
    if score is None:
        return "-"
    error = "" if score["stderr"] is None else f" ± {100 * score['stderr']:.1f}"
    low, high = score["interval_95"]
    return f"{100 * score['pass@1']:.1f}{error} ({100 * low:.1f} to {100 * high:.1f})"


def _comparable(one: Score, other: Score) -> bool:
    rows = one.right["correct_strict"].keys()
    return (
        one.metrics["benchmark"] == other.metrics["benchmark"]
        and rows == other.right["correct_strict"].keys()
        and len(rows) > 1
    )


def cost(metrics: Mapping[str, Any]) -> Section:
    """Calls and tokens of each model role, and what Lean did."""
    keys = ("calls", "cached", "failed", "prompt_tokens", "completion_tokens", "cost")
    header = ("role", "calls", "from the transcript", "failed", "prompt tokens", "completion tokens", "cost")
    accounts = {role: [usage[key] for key in keys] for role, usage in metrics["llm"].items()}
    # A start that found everything finished asked no model, and has no role.
    totals = [sum(usage[key] or 0 for usage in metrics["llm"].values()) for key in keys]
    rows = [(role, *values) for role, values in {**accounts, "all": totals}.items()]
    # Where no role has a price there is no cost to show.
    width = None if any(usage["cost"] is not None for usage in metrics["llm"].values()) else -1
    lean = metrics["lean"]
    body = (
        f"{md.table(header[:width], [_priced(row)[:width] for row in rows])}\n\n"
        f"Lean ({lean['toolchain']}) made {lean['checks']} checks in {lean['seconds']:.1f} s. "
        f"The last start of the generation took {metrics['wall_seconds']:.0f} s."
    )
    return Section("Cost of the data", body)


def _priced(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*row[:-1], "-" if row[-1] is None else f"{row[-1]:.4f}")


def rewriting(metrics: Mapping[str, Any]) -> Section:
    """What became of the candidates of a rewriting, by the stage and reason of their end."""
    candidates = metrics["candidates"]
    asked, kept = candidates["in"], candidates["kept"]
    rows = [("retained", kept), *candidates["ended"].items(), ("all", asked)]
    body = md.table(("what became of", "problems", "share"), [(name, n, md.share(n, asked)) for name, n in rows])
    return Section("Rewriting", body, f"{asked} problems were rewritten and {kept} of them retained.")


def sensitivity(compared: Mapping[str, Mapping[str, Mapping[str, Any]]], plot: str) -> Section:
    """How each model's score changes from the originals to the rewritings, by level."""
    rows, summary = [], []
    for model, levels in compared.items():
        for level, found in levels.items():
            low, high = found["interval_95"]
            rows.append(
                (
                    model,
                    level,
                    found["n"],
                    f"{100 * found['original']:.1f}",
                    f"{100 * found['rewritten']:.1f}",
                    f"{found['absolute']:+.1f}",
                    f"{low:+.1f} to {high:+.1f}",
                    "-" if found["relative"] is None else f"{found['relative']:+.1f}",
                    "-" if found["lost"] is None else f"{found['lost']} / {found['gained']}",
                    _p_value(found["p_value"]),
                )
            )
        whole = levels["all"]
        summary.append(f"{model} {whole['absolute']:+.1f} ({rows[-1][6]})")
    header = (
        "model", "level", "pairs", "originals, %", "rewritings, %", "change, points", "95 % interval", "change, %",
        "lost / gained", "p (McNemar)",
    )  # fmt: skip
    body = (
        f"{md.table(header, rows)}\n\nThe interval is a paired bootstrap over the pairs; *lost* pairs are right on the "
        "original alone, *gained* ones on the rewriting alone. McNemar's test is exact and two-sided.\n\n"
        f"![Accuracies and their changes]({plot})"
    )
    return Section(
        "Sensitivity", body, f"Change in percentage points from originals to rewritings: {'; '.join(summary)}."
    )


def confounds(correlations: Mapping[str, Mapping[str, Any]]) -> Section:
    """What else goes along with the drop."""
    rows = [
        (
            name,
            "-" if found["rho"] is None else f"{found['rho']:+.3f}",
            _p_value(found["p_value"]),
            found["n"],
        )
        for name, found in correlations.items()
    ]
    header = ("measure of a pair", "rho with the drop", "p", "pairs")
    body = (
        f"{md.table(header, rows)}\n\nSpearman's rho with the drop from original to rewriting, the mean over models. "
        "Lengths are in words, numbers and signs. Where the set has no worked solutions, solution lengths are the mean "
        "lengths of the models' replies."
    )
    return Section("What else may explain the drop", body)


def _p_value(value: float | None) -> str:
    """Three decimals; what is less than half the last of them is not 0."""
    return "-" if value is None else "< 0.001" if value < 0.0005 else f"{value:.3f}"

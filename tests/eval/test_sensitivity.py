"""Sensitivity: every formula on values computed by hand, and the command on folders of evaluations."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from eval.confounds import CONFOUNDS, Pair, largest_number, measure, numbers, surface_distance, tokens
from eval.score import Sample
from eval.sensitivity import Scored, bootstrap, compare, correlations, mcnemar, mean_drops
from rltpf.cli import main


def scored(model: str, *verdicts: tuple[str, float, float]) -> list[Scored]:
    return [Scored(model, f"p{n}", level, o, r) for n, (level, o, r) in enumerate(verdicts)]


def test_accuracies_and_changes_by_level() -> None:
    rows = scored("m", ("1", 1, 1), ("1", 1, 0), ("1", 1, 0), ("1", 0, 1), ("2", 0, 1), ("2", 0, 0))
    found = compare(rows)["m"]
    assert list(found) == ["1", "2", "all"]
    one, two, whole = (found[level] for level in ("1", "2", "all"))
    assert (one["n"], one["original"], one["rewritten"]) == (4, 0.75, 0.5)
    assert (one["absolute"], one["relative"]) == (-25.0, pytest.approx(-100 / 3))
    assert (two["absolute"], two["relative"]) == (50.0, None)  # no share of nothing
    assert (whole["absolute"], whole["relative"]) == (0.0, 0.0)
    # Lost 2, gained 2: as many as possible on either side.
    assert (whole["lost"], whole["gained"], whole["p_value"]) == (2, 2, 1.0)


def test_one_level_is_all() -> None:
    assert list(compare(scored("m", ("easy", 1, 0), ("easy", 1, 1)))["m"]) == ["all"]


def test_shares_have_no_test() -> None:
    found = compare(scored("m", ("1", 0.5, 0.25), ("1", 1, 0.25)))["m"]["all"]
    assert (found["absolute"], found["relative"]) == (-50.0, pytest.approx(-100 * 2 / 3))
    assert (found["lost"], found["p_value"]) == (None, None)


@pytest.mark.parametrize(
    ("lost", "gained", "p"),
    [
        (0, 0, 1.0),
        (5, 0, 2 / 32),
        (1, 5, 14 / 64),  # 2 * (1 + 6) / 64
        (5, 1, 14 / 64),
        (8, 2, 112 / 1024),  # 2 * (1 + 10 + 45) / 1024
        (3, 3, 1.0),
    ],
)
def test_mcnemar(lost: int, gained: int, p: float) -> None:
    assert mcnemar(lost, gained) == pytest.approx(p)


def test_bootstrap() -> None:
    assert bootstrap([0.0] * 5) == (0.0, 0.0)
    assert bootstrap([1.0]) == (1.0, 1.0)
    low, high = bootstrap([-1.0] * 50 + [0.0] * 50)
    # The mean of 100 draws of -1 or 0 has a standard deviation of 0.05.
    assert low == pytest.approx(-0.5 - 1.96 * 0.05, abs=0.015)
    assert high == pytest.approx(-0.5 + 1.96 * 0.05, abs=0.015)
    assert bootstrap([-1.0, 0.0, 1.0]) == bootstrap([-1.0, 0.0, 1.0])


def test_mean_drop_is_over_models() -> None:
    assert mean_drops([*scored("a", ("1", 1, 0), ("1", 0, 1)), *scored("b", ("1", 1, 1), ("1", 0, 0))]) == {
        "p0": 0.5,
        "p1": -0.5,
    }


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("She pays $1,234.50 for 3 of 5.", ["1234.50", "3", "5"]),
        ("x2 and h17 are names, 0.5 and .25 are not", ["0.5", ".25"]),
        ("1.2.3 is a version", []),
        ("no numbers", []),
        ("10% off 1,000,000", ["10", "1000000"]),
    ],
)
def test_numbers(text: str, found: list[str]) -> None:
    assert [float(value) for value in numbers(text)] == [float(value) for value in found]


def test_confounds_of_a_pair() -> None:
    pair = Pair("Tom has 3 eggs.", "Ann has 15 red hens and 4 eggs.", "by\n  rfl", 9.0, 19.0)
    # 5 and 9 tokens; largest numbers 3 and 15; 1 and 2 numbers; 2 tokens of proof
    assert measure(pair) == {
        "problem length change": pytest.approx(math.log(10 / 6)),
        "absolute problem length change": pytest.approx(math.log(10 / 6)),
        "surface distance": pytest.approx(surface_distance(pair.original, pair.rewritten)),
        "numeric range change": pytest.approx(math.log(16 / 4)),
        "absolute numeric range change": pytest.approx(math.log(16 / 4)),
        "numeric count change": 1.0,
        "absolute numeric count change": 1.0,
        "solution length change": pytest.approx(math.log(20 / 10)),
        "absolute solution length change": pytest.approx(math.log(20 / 10)),
        "Lean proof length": pytest.approx(math.log(3)),
        "rewritten solution length": pytest.approx(math.log(20)),
    }
    back = measure(Pair(pair.rewritten, pair.original, "", 19.0, None))
    assert back["problem length change"] == pytest.approx(-math.log(10 / 6))
    assert back["absolute problem length change"] == pytest.approx(math.log(10 / 6))
    assert (back["numeric count change"], back["absolute numeric count change"]) == (-1.0, 1.0)
    assert back["solution length change"] is back["rewritten solution length"] is back["Lean proof length"] is None


def test_surface_distance() -> None:
    assert surface_distance("Tom  HAS\n3", "tom has 3") == 0.0
    assert surface_distance("abc", "xyz") == 1.0
    assert surface_distance("abcd", "abxy") == pytest.approx(0.5)  # 1 - 2 * 2 / 8
    # Frequent letters of long texts are no noise.
    assert surface_distance("ab" * 200, "ab" * 200 + "c") == pytest.approx(1 - 800 / 801)


def test_tokens() -> None:
    assert tokens("It's 3.5 kg, or 2 + 2.") == 11
    assert largest_number("nothing") == 0.0


def test_correlations() -> None:
    drops = {"a": 0.0, "b": 0.5, "c": 1.0, "d": 0.25}
    values = {"a": 1.0, "b": 3.0, "c": 9.0, "d": 2.0}
    confounds: dict[str, dict[str, float | None]] = {
        pair: dict.fromkeys(CONFOUNDS)
        | {"surface distance": value, "numeric count change": -value, "Lean proof length": 1.0}
        for pair, value in values.items()
    }
    confounds["a"]["numeric count change"] = None
    found = correlations(drops, confounds)
    assert list(found) == list(CONFOUNDS)
    assert (found["surface distance"]["rho"], found["surface distance"]["n"]) == (pytest.approx(1.0), 4)
    assert (found["numeric count change"]["rho"], found["numeric count change"]["n"]) == (pytest.approx(-1.0), 3)
    assert found["Lean proof length"] == {"rho": None, "p_value": None, "n": 4}
    assert found["solution length change"] == {"rho": None, "p_value": None, "n": 0}


ROWS = [
    {"original_question": f"o{n}", "rewritten_question": f"r{n} {n}", "lean_proof": "by rfl" * n, "level": str(n % 2)}
    for n in range(4)
]


def evaluated(folder: Path, questions: list[str], right: str) -> str:
    folder.mkdir(parents=True)
    samples = [
        Sample(f"{n}", question, "1", "p", output="a " * n, correct_math_verify=verdict == "1")
        for n, (question, verdict) in enumerate(zip(questions, right, strict=True))
    ]
    (folder / "samples.jsonl").write_text("".join(json.dumps(sample.to_json()) + "\n" for sample in samples))
    return str(folder)


def words(folder: Path, rows: list[dict[str, Any]] = ROWS) -> list[str]:
    path = folder / "set.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    originals, rewritten = ([row[f"{side}_question"] for row in ROWS] for side in ("original", "rewritten"))
    scores = [
        f"{name}={evaluated(folder / name / 'o', originals, o)},{evaluated(folder / name / 'r', rewritten, r)}"
        for name, o, r in (("base", "1111", "0101"), ("sft", "0111", "1111"))
    ]
    return ["sensitivity", str(path), "--scores", *scores, "--output", str(folder / "out")]


def test_the_command_writes_numbers_page_and_heat_maps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words(tmp_path)) == 0
    assert "base -50.0" in capsys.readouterr().out
    found = json.loads((tmp_path / "out" / "sensitivity.json").read_text())
    assert found["models"]["base"]["0"]["absolute"] == -100.0
    assert found["models"]["base"]["1"]["absolute"] == 0.0
    assert found["models"]["sft"]["all"]["absolute"] == 25.0
    # Drops: base 1, 0, 1, 0 and sft -1, 0, 0, 0: means 0, 0, 1/2, 0, against proofs of 0, 2, 3, 4 tokens: the first
    # has no proof, and three remain.
    assert found["confounds"]["Lean proof length"]["n"] == 3
    page = (tmp_path / "out" / "sensitivity.md").read_text()
    assert "| base | all | 4 | 100.0 | 50.0 | -50.0 |" in page
    assert (tmp_path / "out" / "sensitivity.png").stat().st_size > 10_000


def test_the_set_of_a_baseline_has_no_proofs(tmp_path: Path) -> None:
    assert (
        main(words(tmp_path, [{**ROWS[0], "lean_proof": None}, *({**row, "lean_proof": ""} for row in ROWS[1:])])) == 0
    )
    found = json.loads((tmp_path / "out" / "sensitivity.json").read_text())
    assert found["confounds"]["Lean proof length"]["n"] == 0
    assert found["models"]["base"]["all"]["absolute"] == -50.0


def test_what_cannot_be_compared_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = words(tmp_path, [*ROWS, {"original_question": "other", "rewritten_question": "r1 1", "lean_proof": ""}])
    assert main(given) == 2
    message = capsys.readouterr().err
    assert 'base/o: has no replies to 1 of the 5 original questions, the first: "other"' in message
    assert len(message.splitlines()) == 2
    assert main([*given[:3], "base", "--output", str(tmp_path / "out")]) == 2
    assert "--scores base: has to be NAME=ORIGINALS,REWRITINGS" in capsys.readouterr().err
    (tmp_path / "set.jsonl").write_text('{"original_question": 1}\nno\n')
    assert main(given) == 2
    message = capsys.readouterr().err
    assert "set.jsonl:1: original_question has to be a text, and is 1" in message
    assert "set.jsonl:2: is not JSON" in message
    assert not (tmp_path / "out").exists()


def test_a_model_that_is_asked_in_other_words_is_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = words(tmp_path)
    path = tmp_path / "sft" / "r" / "samples.jsonl"
    path.write_text(path.read_text().replace('"prompt": "p"', '"prompt": "q"'))
    assert main(given) == 2
    (line,) = capsys.readouterr().err.splitlines()[-1:]
    assert f"{tmp_path}/sft/o, {tmp_path}/sft/r: ask in 2 ways" in line
    assert "base" not in line

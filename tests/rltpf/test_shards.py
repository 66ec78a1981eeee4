"""Shards: who takes what, what joins them, and what keeps them from being joined."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from data_gen.records import Judgement, Question, StepVerdict, Verdict
from rltpf.cli import main
from rltpf.config import Missing
from rltpf.journal import Journal
from rltpf.llm.model import Completion
from rltpf.llm.usage import Usage
from rltpf.prover.session import LeanUsage
from rltpf.records import Failure, content_id
from rltpf.shards import WHOLE, Shard, find_shard, join_journals
from tests.data_gen.run_files import DATA_SETS, equal_data_sets


@given(st.lists(st.integers().map(content_id), unique=True), st.integers(1, 50), st.randoms())
def test_every_item_is_in_one_shard_whatever_the_order(ids: list[str], total: int, random: Any) -> None:
    shards = [Shard(number, total) for number in range(total)]
    divided = [{identity for identity in ids if shard.holds(identity)} for shard in shards]
    assert sum(map(len, divided)) == len(ids)
    assert set().union(*divided) == set(ids)
    random.shuffle(ids)
    assert [{identity for identity in ids if shard.holds(identity)} for shard in shards] == divided


def test_shards_are_about_equal() -> None:
    ids = [content_id(number) for number in range(10_000)]
    sizes = [sum(Shard(number, 7).holds(identity) for identity in ids) for number in range(7)]
    assert max(sizes) - min(sizes) < 200


def array(count: object, task: object, **others: object) -> dict[str, str]:
    values = {"COUNT": count, "ID": task, **others}
    return {f"SLURM_ARRAY_TASK_{name}": str(value) for name, value in values.items()}


@pytest.mark.parametrize(
    ("num_shards", "shard_id", "environment", "expected"),
    [
        (None, None, {}, WHOLE),
        (1, None, {}, WHOLE),
        (1, 0, {}, WHOLE),
        (3, 2, {}, Shard(2, 3)),
        (None, None, array(4, 3, MIN=0, MAX=3, STEP=1), Shard(3, 4)),
        (None, None, array(10, 1, MIN=1, MAX=10, STEP=1), Shard(0, 10)),
        (None, None, array(10, 10, MIN=1, MAX=10, STEP=1), Shard(9, 10)),
        (None, None, array(4, 8, MIN=0, MAX=12, STEP=4), Shard(2, 4)),
        (None, None, array(4, 7, MIN=1, MAX=7, STEP=2), Shard(3, 4)),
        (None, None, array(2, 1), Shard(1, 2)),
        (None, None, array(1, 5, MIN=5, MAX=5, STEP=1), WHOLE),
        # What the config says comes first: an array over something else does not divide the input.
        (1, None, array(4, 3, MIN=0, MAX=3, STEP=1), WHOLE),
        (4, None, array(4, 3, MIN=0, MAX=3, STEP=1), Shard(3, 4)),
        (10, 7, array(2, 7, MIN=3, MAX=7, STEP=4), Shard(7, 10)),
        (None, 1, array(4, 3, MIN=0, MAX=3, STEP=1), Shard(1, 4)),
    ],
)
def test_the_part_is_named_by_the_config_or_by_slurm(
    num_shards: int | None, shard_id: int | None, environment: dict[str, str], expected: Shard
) -> None:
    assert find_shard(num_shards, shard_id, environment) == expected


@pytest.mark.parametrize(
    ("num_shards", "shard_id", "environment", "fault"),
    [
        (3, None, {}, "is missing: num_shards is 3, and there is no SLURM array"),
        (None, 1, {}, "is 1, and num_shards is missing"),
        (3, 3, {}, "is 3, and num_shards is 3"),
        # Two tasks of ten, submitted again: their numbers in this array are not those of the shards.
        (10, None, array(2, 7, MIN=3, MAX=7, STEP=4), "num_shards is 10, and SLURM's array has 2 tasks"),
        (None, None, array(3, 1, MIN=1, MAX=7, STEP=1), "not evenly numbered from 1 to 7"),
        (None, None, array(3, 1, MIN=1, MAX=7, STEP=0), "not evenly numbered"),
        (None, None, array(3, 9, MIN=0, MAX=2, STEP=1), "not evenly numbered"),
        (None, None, array(3, 1, MIN=0, MAX=4, STEP=2), "not evenly numbered"),
        (None, None, array("three", 1), "SLURM_ARRAY_TASK_COUNT has to be a number, and is 'three'"),
        (None, None, {"SLURM_ARRAY_TASK_COUNT": "3"}, "SLURM_ARRAY_TASK_ID has to be a number, and is ''"),
    ],
)
def test_a_part_that_is_not_clear_is_refused(
    num_shards: int | None, shard_id: int | None, environment: dict[str, str], fault: str
) -> None:
    with pytest.raises(ValueError, match=re.escape(fault)) as caught:
        find_shard(num_shards, shard_id, environment)
    # What a file may leave to the command line or to SLURM.
    assert isinstance(caught.value, Missing) == str(caught.value).startswith("is missing")


class Stub:
    """Stands in for the model, the prover, the formaliser and the judge; what becomes of an item hangs on its text."""

    name = toolchain_id = "stub"
    library = "core"

    def __init__(self, *_: object) -> None:
        self.usage = Usage()

    async def close(self) -> None:
        pass

    async def formalise(self, question: Question) -> Question:
        if _die(question.question) == 0:
            return Question(question.id, question.question, question.gold, "s1", error=Failure("s2", "refused"))
        usage = LeanUsage(checks=2, seconds=0.25)
        return Question(question.id, question.question, question.gold, "s4", telescope="T", usage=usage)

    async def judge(self, question: str, telescope: str, text: str) -> Judgement:
        verdicts: tuple[Verdict, ...] = ("error", "false", "verified", "verified")
        verdict = verdicts[_die(text)]
        return Judgement(verdict, "r", (StepVerdict(text, "1 = 1", verdict),), (), LeanUsage(checks=1, seconds=0.5))


def build_model(_: object, transcript: Path) -> Stub:
    transcript.touch()
    return Stub()


async def sample_answer(model: Stub, question: str, number: int, *_: object) -> str:
    model.usage.count("solver", Completion("", prompt_tokens=len(question), completion_tokens=number))
    return f"answer {number} to {question}"


def _die(text: str) -> int:
    return int(content_id(text), 16) % 4


@pytest.fixture(scope="module", autouse=True)
def _without_lean() -> Iterator[None]:
    """The real `generate` on stand-ins, in this process."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("build_prover", "Formaliser", "Judge"):
            patch.setattr(f"data_gen.pipeline.{name}", Stub)
        patch.setattr("data_gen.pipeline.build_model", build_model)
        patch.setattr("data_gen.pipeline.sample_answer", sample_answer)
        for name in [name for name in os.environ if name.startswith("SLURM_")]:
            patch.delenv(name)
        yield


def generate(output_dir: Path, rows: list[tuple[str, str]], *overrides: str) -> int:
    data = output_dir.parent / "data.jsonl"
    data.write_text("".join(json.dumps({"question": q, "answer": a}) + "\n" for q, a in rows))
    arguments = ("--dataset.path", str(data), "--llm.model", "m", "--output_dir", str(output_dir))
    return main(["generate", *arguments, *overrides])


ROWS = [(f"Question {number}?", str(number)) for number in range(12)]


def shard(output_dir: Path, number: int, total: int = 3, *overrides: str, rows: list[tuple[str, str]] = ROWS) -> None:
    assert generate(output_dir, rows, "--num_shards", str(total), "--shard_id", str(number), *overrides) == 0


def shards(output_dir: Path) -> Path:
    """A run in three finished shards, joined by the last."""
    for number in range(3):
        shard(output_dir, number)
    return output_dir


def merge(output_dir: Path, *options: str) -> int:
    return main(["merge", str(output_dir), *options])


def refusal(output_dir: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The lines with which `merge` refuses; what there was before it is as it was."""
    before = contents(output_dir)
    capsys.readouterr()
    assert merge(output_dir) == 2
    assert contents(output_dir) == before
    printed = capsys.readouterr()
    assert printed.out == ""
    return printed.err.replace(f"{output_dir}", "RUN").splitlines()


def contents(output_dir: Path) -> dict[str, bytes]:
    """What the run directory holds, apart from its starts."""
    return {path.name: path.read_bytes() for path in output_dir.glob("*.*") if path.name != "manifest.json"}


def metrics(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "metrics.json").read_text())
    del found["wall_seconds"]
    return found


@settings(max_examples=25)
@given(
    st.lists(st.tuples(st.sampled_from("ABCDEFGH"), st.sampled_from("12")), min_size=1, max_size=20),
    st.integers(2, 6),
    st.randoms(),
)
def test_any_number_of_shards_gives_the_bytes_of_one_run(rows: list[tuple[str, str]], total: int, random: Any) -> None:
    """With rows that repeat, questions that repeat, and whichever shard comes last."""
    with tempfile.TemporaryDirectory() as folder:
        one, many = Path(folder, "one"), Path(folder, "many")
        assert generate(one, rows) == 0
        for number in random.sample(range(total), total):
            assert not (many / "sft.jsonl").exists()
            shard(many, number, total, rows=rows)
        assert equal_data_sets(many, one)
        assert metrics(many) == metrics(one)
        for name in ("questions.jsonl", "answers.jsonl"):
            assert sorted((many / name).read_bytes().splitlines()) == sorted((one / name).read_bytes().splitlines())


def test_merge_says_what_became_of_every_row_and_does_so_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = shards(tmp_path / "run")
    before = contents(run)
    capsys.readouterr()
    assert merge(run) == 0
    printed = capsys.readouterr()
    assert printed.err.startswith("questions: 12 in = ")
    assert f"{run}/sft.jsonl: " in printed.out
    assert contents(run) == before
    assert json.loads((run / "manifest.json").read_text())["starts"][-1]["finished"]


def test_exchanges_with_the_model_are_joined_each_once(tmp_path: Path) -> None:
    run = shards(tmp_path / "run")
    for number, keys in enumerate(("ab", "bc", "a")):
        lines = "".join(json.dumps({"key": key, "of": number}) + "\n" for key in keys)
        (run / "shards" / f"{number}-of-3" / "transcript.jsonl").write_text(lines)
    assert merge(run) == 0
    rows = [json.loads(line) for line in (run / "transcript.jsonl").read_text().splitlines()]
    assert rows == [{"key": "a", "of": 0}, {"key": "b", "of": 0}, {"key": "c", "of": 1}]


def test_of_two_shards_that_finish_together_one_joins_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    shard(run, 0, 2)
    assert "shard 0 of 2 is finished, shard 1 of 2 is not" in capsys.readouterr().err
    with (run / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shard(run, 1, 2)
    assert "shard 1 of 2 is finished, and another process is joining the shards" in capsys.readouterr().err
    assert not (run / "sft.jsonl").exists()
    assert merge(run) == 0


def test_a_missing_or_unfinished_shard_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = shards(tmp_path / "run")
    shutil.rmtree(run / "shards" / "1-of-3")
    manifest = run / "shards" / "2-of-3" / "manifest.json"
    found = json.loads(manifest.read_text())
    # A start that is under way, or was killed.
    found["starts"].append({"time": "now"})
    manifest.write_text(json.dumps(found))
    assert refusal(run, capsys) == [
        "RUN/shards/1-of-3: shard 1 of 3: is missing: start it with --num_shards 3 --shard_id 1",
        "RUN/shards/2-of-3: shard 2 of 3: is not finished: start its command again",
    ]


def test_a_folder_that_is_no_shard_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = shards(tmp_path / "run")
    (run / "shards" / "copy of 1-of-3").mkdir()
    (run / "shards" / "3-of-3").mkdir()
    (run / "shards" / ".nfs01").touch()
    assert refusal(run, capsys) == [
        "RUN/shards/3-of-3: is no shard: move it elsewhere",
        "RUN/shards/copy of 1-of-3: is no shard: move it elsewhere",
    ]


def test_a_shard_in_the_place_of_another_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = shards(tmp_path / "run")
    shutil.rmtree(run / "shards" / "1-of-3")
    shutil.copytree(run / "shards" / "2-of-3", run / "shards" / "1-of-3")
    (run / "shards" / "2-of-3" / "manifest.json").unlink()
    assert refusal(run, capsys) == [
        "RUN/shards/1-of-3: shard 1 of 3: holds shard 2 of 3: move it to its place",
        "RUN/shards/2-of-3: shard 2 of 3: holds no run of `generate`",
    ]


def test_shards_of_two_divisions_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = shards(tmp_path / "run")
    shutil.copytree(run / "shards" / "0-of-3", run / "shards" / "0-of-2")
    assert refusal(run, capsys) == ["RUN/shards: holds shards of runs in 2 and 3 parts: remove those of one run"]


def test_no_shards_at_all_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refusal(tmp_path / "nowhere", capsys) == ["RUN: there is no such folder"]
    (tmp_path / "run" / "shards").mkdir(parents=True)
    assert refusal(tmp_path / "run", capsys) == ["RUN: holds no shards: --num_shards and --shard_id make them"]


def test_many_faults_are_cut(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "run" / "shards" / "0-of-999999999").mkdir(parents=True)
    lines = refusal(tmp_path / "run", capsys)
    assert len(lines) == 21
    assert lines[-1] == "RUN: the first 20 faults are shown"


def test_other_settings_and_another_lean_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    shard(run, 0)
    shard(run, 1, 3, "--repairs", "4", "--seed", "1", "--prover.workers", "2")
    monkeypatch.setattr(Stub, "toolchain_id", "another")
    capsys.readouterr()
    # The last one is done all the same; what is wrong is said, and the data sets are not there.
    shard(run, 2)
    printed = capsys.readouterr().err
    expected = [
        "RUN/shards/1-of-3: shard 1 of 3: repairs: is 4, and in shard 0 of 3 it is 5",
        "RUN/shards/1-of-3: shard 1 of 3: seed: is 1, and in shard 0 of 3 it is 42",
        "RUN/shards/2-of-3: shard 2 of 3: its verdicts are from Lean another, and those of shard 0 of 3 from stub",
    ]
    assert printed.replace(f"{run}", "RUN").splitlines()[-4:] == [
        "shard 2 of 3 is finished, and cannot be joined:",
        *expected,
    ]
    assert refusal(run, capsys) == expected


def test_another_input_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The settings name the file, and not what is in it."""
    run = tmp_path / "run"
    shard(run, 0)
    shard(run, 1, rows=[*ROWS, ("More?", "1")])
    shard(run, 2)
    assert refusal(run, capsys) == [
        "RUN/shards/1-of-3: shard 1 of 3: its problems are from another input than those of shard 0 of 3: "
        "bring the input back and start the shard again with --overwrite"
    ]


def test_a_shard_that_changes_while_it_is_joined_is_noticed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Begun anew and finished between two reads, it would be half old and half new."""
    run = shards(tmp_path / "run")
    before = {name: (run / name).read_bytes() for name in DATA_SETS}

    def join_slowly(name: str, *arguments: Any) -> Journal:
        if name == "answers":
            # The test is faster than the clock of the manifests.
            monkeypatch.setattr("rltpf.runs._now", lambda: "later")
            shard(run, 1, 3, "--overwrite")
        return join_journals(name, *arguments)

    monkeypatch.setattr("data_gen.merge.join_journals", join_slowly)
    assert merge(run) == 1
    assert f"{run}: a shard was started again while it was joined: merge again" in capsys.readouterr().err
    assert {name: (run / name).read_bytes() for name in DATA_SETS} == before


def test_shards_begun_anew_replace_what_was_joined(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = shards(tmp_path / "run")
    anew = ("--answers_per_question", "3", "--overwrite")
    shard(run, 0, 3, *anew)
    assert "answers_per_question: is 2, and in shard 0 of 3 it is 3" in capsys.readouterr().err
    shard(run, 1, 3, *anew)
    shard(run, 2, 3, *anew)
    assert generate(tmp_path / "one", ROWS, *anew) == 0
    assert equal_data_sets(run, tmp_path / "one")


def test_joined_data_of_other_settings_is_replaced_only_when_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = shards(tmp_path / "run")
    shutil.rmtree(run / "shards")
    other = tmp_path / "other"
    for number in range(3):
        shard(other, number, 3, "--repairs", "4")
    (other / "shards").rename(run / "shards")
    assert "RUN: repairs: this run has 5, and now it is 4" in refusal(run, capsys)
    assert merge(run, "--overwrite") == 0


def test_a_run_keeps_its_division(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    shard(run, 0)
    for overrides in (("--num_shards", "2", "--shard_id", "0"), (), ("--overwrite",)):
        capsys.readouterr()
        assert generate(run, ROWS, *overrides) == 2
        assert "holds a run in 3 shards" in capsys.readouterr().err
    assert [path.name for path in (run / "shards").iterdir()] == ["0-of-3"]

    assert generate(tmp_path / "one", ROWS, "--num_shards", "1") == 0
    assert generate(tmp_path / "one", ROWS) == 0
    assert generate(tmp_path / "one", ROWS, "--num_shards", "2", "--shard_id", "0") == 2
    assert "holds a run that is not in 2 shards" in capsys.readouterr().err
    assert not (tmp_path / "one" / "shards").exists()


def test_merge_takes_no_other_arguments(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert merge(tmp_path, "--config", "x") == 2
    assert "unknown arguments: --config x" in capsys.readouterr().err


@pytest.mark.lean
@pytest.mark.slow
def test_an_array_of_three_gives_the_bytes_of_one_run_in_real_lean(lean_installed: None, tmp_path: Path) -> None:
    """Real processes, all at once, as SLURM starts them."""
    arguments = ["generate", "--config", "configs/generate/demo.yaml", "--dataset.limit", "5", "--prover.workers", "1"]
    command = [sys.executable, "-m", "rltpf", *arguments, "--output_dir"]
    subprocess.run([*command, str(tmp_path / "one")], check=True)
    tasks = [
        subprocess.Popen([*command, str(tmp_path / "many")], env={**os.environ, **array(3, task, MIN=1, MAX=3, STEP=1)})
        for task in (1, 2, 3)
    ]
    assert [task.wait() for task in tasks] == [0, 0, 0]
    assert equal_data_sets(tmp_path / "many", tmp_path / "one")
    assert all((tmp_path / "one" / name).stat().st_size > 0 for name in DATA_SETS)
    assert metrics(tmp_path / "many")["allocation"] == metrics(tmp_path / "one")["allocation"]

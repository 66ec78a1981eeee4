"""Prompts: those of a folder in the place of ours, their versions, and the examples for each library."""

import asyncio
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from data_gen.config import GenerateConfig
from data_gen.dry_run import expected_library
from data_gen.formalize import check_in_lean
from data_gen.judge import Judge
from data_gen.prompting import OWN, Prompts, with_version
from rltpf.cli import main
from rltpf.errors import InputError
from rltpf.llm.model import ModelError, NotRecorded, Request, Sampling
from rltpf.prover import build_prover
from rltpf.prover.cascade import Library
from rltpf.prover.prover import Prover
from rltpf.prover.session import LeanSession
from rltpf.prover.settings import ProverConfig
from tests.data_gen.fakes import SYMBOLS, AgreeableProver, RoleModel, write_rows

PACKAGED = Path("data_gen/prompts")
S1 = "Symbols, please.\n--- user ---\n{{ question }}"


def folder(tmp_path: Path, **files: str) -> Path:
    made = tmp_path / "prompts"
    made.mkdir(exist_ok=True)
    for name, text in files.items():
        (made / f"{name}.jinja").write_text(text)
    return made


def text(prompts: Prompts, name: str) -> str:
    return "\n".join(message.content for message in prompts.sketch(name))


# Folders of one's own


def test_files_of_a_folder_take_the_place_of_ours(tmp_path: Path) -> None:
    prompts = Prompts(folder(tmp_path, s1=S1))
    assert [message.content for message in prompts.messages("s1", question="How many?")] == [
        "Symbols, please.",
        "How many?",
    ]
    changed = {name for name, version in prompts.versions.items() if version != OWN.versions[name]}
    assert changed == {"s1"}


def test_a_prompt_changes_with_what_it_builds_on(tmp_path: Path) -> None:
    examples = (PACKAGED / "examples_core.jinja").read_text().replace("pens", "cups")
    prompts = Prompts(folder(tmp_path, examples_core=examples))
    changed = {name for name, version in prompts.versions.items() if version != OWN.versions[name]}
    assert changed == {"s2", "s2_repair", "formalise", "repair"}
    assert "12 cups" in text(prompts, "s2_repair")


def test_a_folder_of_all_our_prompts_changes_nothing(tmp_path: Path) -> None:
    copied = Path(shutil.copytree(PACKAGED, tmp_path / "prompts"))
    (copied / ".DS_Store").write_bytes(b"\xff")
    assert Prompts(copied).versions == OWN.versions


S2 = "{% block system %}Lean.{% endblock %}\n--- user ---\n{% block user %}{{ question }}{% endblock %}"


@pytest.mark.parametrize(
    ("files", "faults"),
    [
        ({"formalize": S1}, ["FOLDER/formalize.jinja: is no prompt (did you mean formalise.jinja?)"]),
        ({"s1": "{{ question\n--- user ---\n", "x_y": ""}, ["FOLDER/x_y.jinja: is no prompt (known: "]),
        (
            {"s1": "A\n{{ question", "s4": "{% if %}\n"},
            ["FOLDER/s1.jinja:2: unexpected end of template", "FOLDER/s4.jinja:1: Expected an expression"],
        ),
        ({"s1": S1 + "{{ question | shout }}"}, ["FOLDER/s1.jinja:3: No filter named 'shout'"]),
        ({"s1": S1.replace("question", "problem")}, ["s1.jinja: there is no value 'problem' for it (known: question)"]),
        # A branch that is not taken at the start would be taken some time.
        ({"s1": S1 + "{% if false %}{{ hint }}{% endif %}"}, ["s1.jinja: there is no value 'hint' for it"]),
        # Blind to s0 however it is written.
        ({"s3": S1 + "{{ telescope }}"}, ["s3.jinja: there is no value 'question' for it (known: telescope)"]),
        ({"s1": S1 + "{{ question.words }}"}, ["s1.jinja: 'str object' has no attribute 'words'"]),
        ({"s1": S1 + "{{ question.__class__ }}"}, ["s1.jinja: access to attribute '__class__' of 'str'"]),
        ({"s1": S1 + "{{ 1 / 0 }}"}, ["s1.jinja: division by zero"]),
        ({"s1": "Symbols of {{ question }}"}, ["s1.jinja: needs text on both sides of a line `--- user ---`"]),
        ({"s1": "\n--- user ---\n{{ question }}"}, ["s1.jinja: needs text on both sides"]),
        ({"s1": '{% extends "base.jinja" %}'}, ["s1.jinja: builds on base.jinja, which is no prompt"]),
        ({"s1": "{% extends question %}"}, ["s1.jinja: has to name the template that it builds on in quotes"]),
        ({"s1": S1 + '{% include "s1.jinja" %}'}, ["s1.jinja: maximum recursion depth exceeded"]),
        # Lean's message would never reach the model.
        ({"s2": S1}, ["FOLDER: s2_repair.jinja: fills the block 'user', which s2.jinja does not have"]),
        ({"examples_core": "{% set telescopes = '' %}"}, ["formalise.jinja: ", "s2.jinja: "]),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_a_line_each(tmp_path: Path, files: dict[str, str], faults: list[str]) -> None:
    made = folder(tmp_path, **files)
    with pytest.raises(InputError) as caught:
        Prompts(made)
    found = [fault.replace(str(made), "FOLDER") for fault in caught.value.faults]
    assert len(found) == len(faults)
    for line, fault in zip(found, faults, strict=True):
        assert fault in line
        assert "\n" not in line


def test_blocks_and_counts_serve_as_in_ours(tmp_path: Path) -> None:
    repair = (
        '{% extends "s2.jinja" %}{% block user %}{% block inner %}{{ complaint }}{% endblock %}'
        "{{ repairs - repair }}{% endblock %}"
    )
    assert text(Prompts(folder(tmp_path, s2=S2, s2_repair=repair)), "s2_repair") == "Lean.\n<complaint>0"


@pytest.mark.parametrize(("name", "said"), [("absent", "No such file or directory"), ("empty", "holds no templates")])
def test_a_folder_without_prompts_is_refused(tmp_path: Path, name: str, said: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=f"prompts: .*{name}: {said}"):
        Prompts(tmp_path / name)


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    made = folder(tmp_path)
    (made / "s1.jinja").write_bytes(b"\xff")
    (made / "s2.jinja").mkdir()
    with pytest.raises(InputError) as caught:
        Prompts(made)
    assert [fault.rpartition("/")[2] for fault in caught.value.faults] == [
        "s1.jinja: is not UTF-8 text",
        "s2.jinja: Is a directory",
    ]


# Runs


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> RoleModel:
    """`generate` with a scripted model that answers nothing, and a prover that agrees to everything."""
    model = RoleModel(answer="no steps")
    monkeypatch.setattr("data_gen.pipeline.build_prover", lambda _: AgreeableProver())
    monkeypatch.setattr("data_gen.pipeline.build_model", lambda *_: model)
    return model


def generate(tmp_path: Path, *overrides: str, data: Path | None = None) -> int:
    data = data or write_rows(tmp_path / "data.jsonl", ("How many are 2 and 3?", "5"))
    arguments = ("--dataset.path", str(data), "--llm.model", "m", "--output_dir", str(tmp_path / "run"))
    return main(["generate", *arguments, *overrides])


def recorded(tmp_path: Path, name: str) -> Any:
    return json.loads((tmp_path / "run" / name).read_text())


def test_a_run_uses_its_prompts_and_notes_their_versions(model: RoleModel, tmp_path: Path) -> None:
    made = folder(tmp_path, s1=S1, answer="Solve.\n--- user ---\n{{ question }}")
    assert generate(tmp_path, "--prompts", str(made)) == 0
    assert model.asked("s1")[0].messages[0].content == "Symbols, please."
    assert model.asked("answer")[0].messages[0].content == "Solve."
    assert recorded(tmp_path, "metrics.json")["prompts"] == Prompts(made).versions
    assert re.fullmatch("[0-9a-f]{16}", recorded(tmp_path, "manifest.json")["settings"]["prompts_version"])


def test_judge_uses_them_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made = folder(tmp_path, formalise="Formalise.\n--- user ---\n{{ answer }}", repair="Repair.\n--- user ---\n.")
    steps = [{"definitions": [], "claim": claim, "proof": None} for claim in ("2 + 3 = 5", "answer = 5")]
    model = RoleModel(formalise={"steps": steps})
    monkeypatch.setattr("data_gen.verdicts.build_prover", lambda _: AgreeableProver())
    monkeypatch.setattr("data_gen.verdicts.build_model", lambda *_: model)
    rows = tmp_path / "rows.jsonl"
    answer = "Step 1: 2 + 3 = 5 of them.\nThe answer is 5."
    rows.write_text(json.dumps({"id": "a", "question": "How many are 2 and 3?", "answer": answer}))
    arguments = ("--output_dir", str(tmp_path / "run"), "--output", str(tmp_path / "out.jsonl"), "--llm.model", "m")
    assert main(["judge", str(rows), *arguments, "--prompts", str(made)]) == 0
    assert json.loads((tmp_path / "out.jsonl").read_text())["verdict"] == "verified"
    assert [message.content for message in model.asked("formalise")[0].messages] == ["Formalise.", answer]


def test_a_run_shows_its_settings_and_first_prompt_unless_nothing_is_left(
    model: RoleModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = folder(tmp_path, s1="\n".join(map(str, range(30))) + "\n--- user ---\n{{ question }}")
    assert generate(tmp_path, "--prompts", str(made)) == 0
    config, system, user = capsys.readouterr().err.split("--- first prompt, formaliser: s1 ")
    shown = yaml.safe_load(config)
    assert shown["llm"] == {"model": "m"}
    assert "seed" not in shown
    assert config.endswith(f"# with the defaults: {tmp_path}/run/config.yaml\n")
    assert system == "(system)\n" + "\n".join(map(str, range(20))) + "\n[10 more lines: see --dry_run]\n"
    assert user.startswith("(user)\nHow many are 2 and 3?\n---\nquestions: ")
    assert generate(tmp_path, "--prompts", str(made)) == 0
    assert "first prompt" not in capsys.readouterr().err


def test_problems_without_a_verdict_are_one_line_and_a_file(
    model: RoleModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def unknown(request: Request) -> str:
        raise ModelError("no\nreply")

    model.replies["s1"] = unknown
    data = write_rows(tmp_path / "two.jsonl", ("How many are 2 and 3?", "5"), ("How many are 3 and 3?", "6"))
    assert generate(tmp_path, "--llm.max_concurrent", "1", data=data) == 1
    noted = tmp_path / "run" / "unfinished.jsonl"
    rows = [json.loads(line) for line in noted.read_text().splitlines()]
    assert [(row["reason"], row["detail"]) for row in rows] == [("ModelError", "no\nreply")] * 2
    assert capsys.readouterr().err.splitlines()[-1] == (
        f"2 problems without a verdict, which the same command takes up again; all are in {noted}, the first is "
        f"{rows[0]['id']}: ModelError: no reply"
    )
    model.replies["s1"] = SYMBOLS
    assert generate(tmp_path, data=data) == 0
    assert not noted.exists()


def test_problems_that_a_replay_has_no_reply_for_are_not_said_to_be_taken_up_again(
    model: RoleModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def unknown(request: Request) -> str:
        raise NotRecorded("no reply")

    def first_breaks(request: Request) -> str:
        model.replies["s1"] = unknown
        raise ModelError("broken")

    model.replies["s1"] = unknown
    data = write_rows(tmp_path / "two.jsonl", ("How many are 2 and 3?", "5"), ("How many are 3 and 3?", "6"))
    noted = tmp_path / "run" / "unfinished.jsonl"
    assert generate(tmp_path, "--llm.max_concurrent", "1", data=data) == 1
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith(
        "2 problems without a verdict, since the transcript has no reply for them, and a second start would find none "
        f"either; all are in {noted}, the first is "
    )
    model.replies["s1"] = first_breaks
    assert generate(tmp_path, "--llm.max_concurrent", "1", data=data) == 1
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith(
        "2 problems without a verdict, which the same command takes up again, but for 1 that the transcript has no "
        f"reply for; all are in {noted}, the first is "
    )


def test_other_prompts_do_not_go_on_with_a_run(
    model: RoleModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = folder(tmp_path, s1=S1)
    assert generate(tmp_path, "--prompts", str(made)) == 0
    assert generate(tmp_path, "--prompts", str(made)) == 0
    capsys.readouterr()
    other = Path(shutil.copytree(made, tmp_path / "other"))
    assert generate(tmp_path, "--prompts", str(other)) == 2
    assert f'prompts: this run has "{made}", and now it is "{other}"' in capsys.readouterr().err
    # The same folder with other words in it.
    folder(tmp_path, s1=S1 + "!")
    assert generate(tmp_path, "--prompts", str(made)) == 2
    assert "prompts_version: this run has" in capsys.readouterr().err
    assert len(model.asked("s1")) == 1


def test_a_version_that_is_asked_for_is_the_only_one_that_will_do(tmp_path: Path) -> None:
    config = GenerateConfig.model_validate({"output_dir": "x", "dataset": {"path": "y"}, "llm": {"model": "m"}})
    version = with_version(config).prompts_version
    assert with_version(config.model_copy(update={"prompts_version": version})).prompts_version == version
    other = {"prompts_version": version, "prompts": folder(tmp_path, s1=S1)}
    with pytest.raises(InputError, match=f"prompts_version: is {version}, and the prompts have the version"):
        with_version(config.model_copy(update=other))


def test_faults_stop_a_run_before_anything_is_asked(
    model: RoleModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = folder(tmp_path, s1="{{ question", s22="")
    for overrides in ((), ("--dry_run",)):
        assert generate(tmp_path, "--prompts", str(made), *overrides) == 2
        assert capsys.readouterr().err.splitlines() == [f"{made}/s22.jinja: is no prompt (did you mean s2.jinja?)"]
    (made / "s22.jinja").unlink()
    assert generate(tmp_path, "--prompts", str(made)) == 2
    assert capsys.readouterr().err.startswith(f"{made}/s1.jinja:1: ")
    assert not model.requests
    # Nor does the slip bind the next start.
    folder(tmp_path, s1=S1)
    assert generate(tmp_path, "--prompts", str(made)) == 0


def test_dry_run_shows_the_prompts_with_their_versions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = folder(tmp_path, s1=S1)
    assert generate(tmp_path, "--dry_run", "--prompts", str(made), "--strategy", "reverse_qa") == 0
    shown = capsys.readouterr().out
    for title, name in (("generator: s0", "s0"), ("formaliser: s1", "s1"), ("solver: answer", "answer")):
        assert f"--- {title}, version {Prompts(made).versions[name]} (system)" in shown
    assert "Problem:\nHow many are 2 and 3?\n\nSolution:\n5" in shown
    assert "Symbols, please." in shown
    assert generate(tmp_path, "--dry_run") == 0
    assert "generator" not in capsys.readouterr().out.partition("--- ")[2]


# Examples


def test_examples_are_those_of_the_prover_s_library() -> None:
    for name in ("s2", "s2_repair", "formalise", "repair"):
        core, mathlib = (text(Prompts(library=library), name) for library in ("core", "mathlib"))
        assert "Core Lean only" in core
        assert "Mathlib is imported" in mathlib or "Mathlib's tactics" in mathlib
        assert "Core Lean only" not in mathlib
    assert OWN.versions["s2"] != Prompts(library="mathlib").versions["s2"]
    assert OWN.versions["s3"] == Prompts(library="mathlib").versions["s3"]


@pytest.mark.parametrize(
    ("settings", "library"),
    [
        ({}, "core"),
        ({"header": "import Mathlib\nopen Nat"}, "mathlib"),
        ({"project": "p", "toolchain": "native"}, "mathlib"),
        ({"project": "p", "header": "import Std"}, "core"),
        ({"toolchain": "kimina", "url": "http://x"}, "mathlib"),
        ({"toolchain": "kimina", "url": "http://x", "header": ""}, "core"),
    ],
)
def test_a_dry_run_knows_the_library_without_lean(settings: dict[str, Any], library: str) -> None:
    assert expected_library(ProverConfig(**settings)) == library


@pytest.mark.lean
def test_a_dry_run_and_the_prover_agree(lean_installed: None) -> None:
    config = ProverConfig(toolchain="embedded")
    prover = build_prover(config)
    assert expected_library(config) == prover.library
    asyncio.run(prover.close())


@pytest.mark.lean
@pytest.mark.parametrize("library", ["core", "mathlib"])
def test_the_examples_are_what_they_teach(prover: Prover, library: Library) -> None:
    """Their telescopes pass Lean and the guards, and their answers are verified: by proofs of the prover's own, since
    Mathlib is not there."""
    prompts = Prompts(library=library)
    system = prompts.sketch("s2")[0].content
    example = re.search(r"Example\. Question: (.*)\n```lean\n(.*?)\n```", system, re.DOTALL)
    assert example is not None
    question, telescope = example.groups()
    asyncio.run(check_in_lean(telescope, LeanSession(prover)))

    system = prompts.sketch("formalise")[0].content
    example = re.search(r"Example\. Telescope:\n(.*?)\n(Step 1.*?)\nReply:\n(.*)", system, re.DOTALL)
    assert example is not None
    same, answer, reply = example.groups()
    assert same.split() == telescope.split()
    steps = json.loads(reply)["steps"]
    if library == "mathlib":
        assert any(step["proof"] for step in steps)
    model = RoleModel(formalise={"steps": [{**step, "proof": None} for step in steps]})
    judgement = asyncio.run(Judge(model, prover, Sampling(), 0).judge(question, telescope, answer))
    assert judgement.verdict == "verified"

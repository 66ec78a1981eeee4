"""The audit: a row passes as it was exported, and whatever is changed in it is found, also when it is sealed anew."""

import asyncio
import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from data_gen.allocate import Allocation
from data_gen.audit import SEAL, Theorem, answers, seal, theorems
from data_gen.export import COLUMNS, dpo_rows, save_folder, sft_rows, stepwise_rows, to_jsonl, unpaired_rows
from data_gen.findings import Finding, audit_rows, find_data_sets, read_rows
from data_gen.formal import Definition, FormalStep, Refusal, proposition, step_binders, theorem
from data_gen.records import Answer, StepVerdict, Verdict
from rltpf.cli import main
from rltpf.errors import InputError
from rltpf.prover.prover import Prover
from rltpf.prover.report import Report
from rltpf.prover.session import with_proof
from tests.data_gen.fakes import AgreeableProver

Row = dict[str, Any]

TELESCOPE = """(eggs eaten price answer : Rat)
(h_eggs : eggs = 16) (h_eaten : eaten = 3)
(h_price : price = 2)
(h_answer : answer = (eggs - eaten) * price)"""


def answered(number: int, verdict: Verdict, total: int) -> Answer:
    """An answer as the judge leaves it: a step with a claim, a step without, and a final answer, true or false."""
    formal = [
        FormalStep((Definition("left_over", "eggs - eaten"),), "left_over = 13"),
        FormalStep((Definition("sold", "left_over"), Definition("money", "sold * price"))),
        FormalStep(claim=f"answer = {total}"),
    ]
    texts = ["16 - 3 = 13 eggs are left over.", "They are sold.", f"The answer is {total}."]
    steps = []
    for index, (text, step) in enumerate(zip(texts, formal, strict=True)):
        denied = step.claim is not None and index == 2 and verdict == "false"
        lean = ""
        if step.claim is not None:
            goal = proposition(step.claim)
            binders = step_binders(TELESCOPE, formal[:index], [True] * index, step)
            name = f"step_{index + 1}"
            stated = theorem(f"{name}_denied", binders, f"¬ ({goal})") if denied else theorem(name, binders, goal)
            lean = with_proof(stated, "subst_vars\ngrind")
        outcome: Any = "no_claim" if step.claim is None else "false" if denied else "verified"
        steps.append(StepVerdict(text, step.claim, outcome, "refuted" if denied else "", lean))
    prose = "\n".join((f"Step 1: {texts[0]}", f"Step 2: {texts[1]}", texts[2]))
    lean = "\n\n".join(step.lean for step in steps if step.lean)
    return Answer(f"a{number}", "q", number, "How much?", prose, verdict, "", tuple(steps), (), lean)


def exported(rows: list[Row]) -> Row:
    return json.loads(to_jsonl(rows))  # type: ignore[no-any-return]


def miscalculated() -> Answer:
    """An answer as the judge leaves it where a calculation of the second step is refuted."""
    texts = ["16 - 3 = 13 eggs are left over.", "She earns 13 * 2 = 25 dollars.", "The answer is 25."]
    lean = with_proof(theorem("step_2_denied", "", "¬ ((13 * 2 : Rat) = 25)"), "decide +kernel")
    steps = (
        StepVerdict(texts[0], None, "unchecked"),
        StepVerdict(texts[1], "13 * 2 = 25", "false", "refuted_calculation", lean),
        StepVerdict(texts[2], None, "unchecked"),
    )
    prose = "\n".join((f"Step 1: {texts[0]}", f"Step 2: {texts[1]}", texts[2]))
    return Answer("a2", "q", 2, "How much?", prose, "false", "refuted_calculation", steps, (), lean)


RIGHT, WRONG = answered(0, "verified", 26), answered(1, "false", 25)
SFT = exported(sft_rows([Allocation("q", "sft", sft=(RIGHT,))]))
DPO = exported(dpo_rows([Allocation("q", "dpo", dpo=((RIGHT, WRONG),))]))
DECIDED = [Allocation("q", "dpo", decided=(answer,)) for answer in (RIGHT, WRONG, miscalculated())]
LIKED, DISLIKED, _ = (exported(unpaired_rows([allocation])) for allocation in DECIDED)
STEPS, STEPS_TO_FALSE, STEPS_CALCULATED = (exported(stepwise_rows([allocation])) for allocation in DECIDED)
CALCULATED = exported(dpo_rows([Allocation("q", "dpo", dpo=((RIGHT, miscalculated()),))]))
LEAN: str = SFT["lean"]
FIRST = theorems(answers(SFT)[0])[0]


def changed(row: Row, *replacements: tuple[str, str], key: str = "lean") -> Row:
    """The row with its Lean text changed, and sealed anew, as by somebody who can write the file."""
    text = row[key]
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new)
    return resealed({**row, key: text})


def everywhere(row: Row, *replacements: tuple[str, str]) -> Row:
    """The row with all its texts changed, and sealed anew."""
    text = json.dumps(row, ensure_ascii=False)
    for old, new in replacements:
        assert old in text, old
        text = text.replace(old, new)
    return resealed(json.loads(text))


def resealed(row: Row) -> Row:
    return {**row, SEAL: seal(row)}


def refused(row: Row) -> str:
    """Why the parts of a row do not agree; empty where they do, and Lean would be asked."""
    try:
        for answer in answers(row):
            theorems(answer)
    except Refusal as refusal:
        return refusal.reason
    return ""


def test_a_row_as_it_was_exported_is_taken_apart() -> None:
    rows = (SFT, DPO, CALCULATED, LIKED, DISLIKED, STEPS, STEPS_TO_FALSE, STEPS_CALCULATED)
    assert [(refused(row), row[SEAL] == seal(row)) for row in rows] == [("", True)] * len(rows)
    assert [[t.name for t in theorems(a)] for a in answers(DPO)] == [["step_1", "step_3"], ["step_1", "step_3_denied"]]
    assert "\n\n".join(t.text for t in theorems(answers(SFT)[0])) == LEAN
    assert FIRST.statement.endswith(
        "(left_over : Rat) (left_over_def : left_over = eggs - eaten) :\n    left_over = 13"
    )


def edits(text: str) -> st.SearchStrategy[str]:
    """The text with one character replaced, inserted or deleted."""
    # The characters of the text itself make the changes that are hardest to see.
    character = st.sampled_from(sorted(set(text))) | st.characters(codec="utf-8")
    position = st.integers(0, len(text) - 1)
    return st.one_of(
        st.builds(lambda i, c: text[:i] + c + text[i + 1 :], position, character),
        st.builds(lambda i, c: text[:i] + c + text[i:], st.integers(0, len(text)), character),
        st.builds(lambda i: text[:i] + text[i + 1 :], position),
    ).filter(lambda edited: edited != text)


def places(value: Any) -> list[tuple[Any, ...]]:
    """The paths of all texts in a row that say something."""
    if isinstance(value, str | bool):
        return [()] if isinstance(value, str) and value else []
    items = value.items() if isinstance(value, dict) else enumerate(value)
    return [(key, *path) for key, item in items if key != SEAL for path in places(item)]


@given(st.data(), st.sampled_from([SFT, DPO, DISLIKED, STEPS]))
def test_the_seal_finds_one_changed_character_anywhere(data: st.DataObject, row: Row) -> None:
    *path, last = data.draw(st.sampled_from(places(row)))
    edited = copy.deepcopy(row)
    holder = edited
    for key in path:
        holder = holder[key]
    holder[last] = data.draw(edits(holder[last]))
    assert seal(edited) != edited[SEAL]


@given(edits(LEAN))
def test_under_a_new_seal_one_changed_character_is_refused_or_is_for_lean_to_judge(lean: str) -> None:
    """The claims cannot be changed in the Lean text alone, and what is not refused goes to Lean to the last byte."""
    try:
        found = theorems(answers({**SFT, "lean": lean})[0])
    except Refusal:
        return
    assert "\n\n".join(theorem.text for theorem in found) == lean
    assert all(theorem.text.startswith(f"{theorem.statement} := by\n") for theorem in found)
    assert [claim_of(theorem) for theorem in found] == ["left_over = 13", "answer = 26"]
    assert LEAN.partition("theorem step_3")[2].partition("(sold : Rat)")[0] in lean


def claim_of(theorem: Theorem) -> str:
    return theorem.statement.rpartition(" :\n    ")[2]


@given(edits(FIRST.statement))
def test_under_a_new_seal_one_changed_character_of_a_statement_is_refused(statement: str) -> None:
    """The theorem after it assumes the same, so none changes alone."""
    assume(statement != f"{FIRST.statement}\n")
    assert refused({**SFT, "lean": LEAN.replace(FIRST.statement, statement, 1)})


SWAPPED = DPO | {
    f"{one}{part}": DPO[f"{other}{part}"]
    for one, other in (("chosen", "rejected"), ("rejected", "chosen"))
    for part in ("", "_verdict", "_steps", "_lean")
}


def more(row: Row, completion: str, label: bool) -> Row:
    return {"completions": [*row["completions"], completion], "labels": [*row["labels"], label]}


def outcomes(*found: str) -> list[Row]:
    return [{**step, "outcome": outcome} for step, outcome in zip(SFT["steps"], found, strict=True)]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (changed(SFT, ("left_over = 13 := by", "left_over ≥ 13 := by")), "claim"),
        (changed(SFT, ("    left_over = 13", "    left_over = 14")), "claim"),
        (changed(DPO, ("¬ (answer = 25)", "answer = 25"), key="rejected_lean"), "claim"),
        # Other theorems than those that the steps need.
        (changed(DPO, ("theorem step_3", "theorem step_3_denied"), key="chosen_lean"), "theorems"),
        (changed(SFT, ("theorem step_3", "theorem step_2")), "theorems"),
        (changed(SFT, (f"{FIRST.text}\n\n", "")), "theorems"),
        (changed(SFT, (LEAN, "")), "theorems"),
        (changed(SFT, (LEAN, f"-- checked\n\n{LEAN}")), "theorems"),
        (changed(SFT, (LEAN, f"{LEAN}\n\n{FIRST.text}")), "theorems"),
        (changed(SFT, (LEAN, "\n\n".join(reversed(LEAN.split("\n\n"))))), "theorems"),
        # Hypotheses that nobody proved.
        (changed(SFT, ("(step_1 : left_over = 13)", "(step_1 : left_over = 14)")), "hypotheses"),
        (changed(SFT, ("(step_1 : left_over = 13)", "(step_1 : answer = 26)")), "hypotheses"),
        (changed(SFT, ("(money : Rat)", "(h_more : answer = 26)\n    (money : Rat)")), "gate"),
        (changed(SFT, ("= sold * price)", "= money + 1)")), "definition"),
        (changed(SFT, ("(money : Rat) (money_def : money =", "(eggs : Rat) (eggs_def : eggs =")), "definition"),
        (changed(SFT, ("answer : Rat)", "reply : Rat)")), "no_answer_slot"),
        (changed(SFT, ("(h_eggs : eggs = 16)", "(h_eggs : eggs = 16 := by simp)")), "gate"),
        # A calculation that the prose does not make, or that is refuted from something else.
        (everywhere(CALCULATED, ("She earns 13 * 2 = 25", "She earns 13 * 2 = 26")), "calculation"),
        (everywhere(CALCULATED, ("step_2_denied\\n     :", "step_2_denied\\n    (h : 13 = 14) :")), "calculation"),
        (everywhere(CALCULATED, ("refuted_calculation", "refuted")), "verdict"),
        # What the row says of its Lean text.
        (resealed({**SFT, "verdict": "false"}), "verdict"),
        (resealed(SWAPPED), "verdict"),
        (resealed({**SFT, "steps": outcomes("verified", "no_claim", "no_claim")}), "verdict"),
        (resealed({**SFT, "steps": outcomes("no_claim", "no_claim", "verified")}), "verdict"),
        (resealed({**SFT, "steps": outcomes("verified", "no_claim", "unchecked")}), "verdict"),
        (resealed({**SFT, "steps": outcomes("false", "no_claim", "verified")}), "verdict"),
        (resealed({**SFT, "steps": SFT["steps"][:-1]}), "prose"),
        (resealed({**SFT, "completion": DPO["rejected"]}), "prose"),
        (resealed({**SFT, "completion": SFT["completion"] * 2}), "prose"),
        # Labels.
        (resealed({**LIKED, "label": False}), "verdict"),
        (resealed({**DISLIKED, "label": True}), "verdict"),
        (resealed({**DISLIKED, "label": True, "verdict": "verified"}), "verdict"),
        (resealed({**STEPS, "labels": [True, False]}), "verdict"),
        (resealed({**STEPS_TO_FALSE, "labels": [True, True]}), "verdict"),
        (resealed({**STEPS_TO_FALSE, "labels": [False, True]}), "labels"),
        (resealed({**STEPS_TO_FALSE, "labels": [False, False]}), "labels"),
        (resealed({**STEPS_CALCULATED, "labels": [True]}), "verdict"),
        # Steps that no theorem stands behind: a tail that was never judged, and a step left out.
        (resealed({**STEPS_CALCULATED, **more(STEPS_CALCULATED, "The answer is 25.", False)}), "labels"),
        (resealed({**STEPS_CALCULATED, "prompt": STEPS_CALCULATED["prompt"].partition("Step 1: 16")[0]}), "labels"),
        (resealed({**STEPS, "completions": STEPS["completions"][1:], "labels": [True]}), "labels"),
        (resealed({**STEPS, "completions": [], "labels": []}), "prose"),
        (changed(STEPS, (f"{FIRST.text}\n\n", "")), "theorems"),
        (everywhere(STEPS, ("The answer is 26.", "The answer is 27.")), "answer_mismatch"),
        (everywhere(SFT, ("16 - 3 = 13 eggs", "16 - 3 = 12 eggs")), "calculation"),
        (everywhere(SFT, ("The answer is 26.", "The answer is 27.")), "answer_mismatch"),
    ],
)
def test_what_does_not_hang_together_needs_no_lean(row: Row, reason: str) -> None:
    assert refused(row) == reason


def audited(prover: Prover, row: Row) -> Finding:
    ((finding,), _) = asyncio.run(audit_rows(prover, [row], workers=1))
    return finding


BY = " := by\n  subst_vars\n  grind"


@pytest.mark.lean
@pytest.mark.parametrize(
    ("row", "status", "reason"),
    [
        (SFT, "passed", "ok"),
        (DPO, "passed", "ok"),
        (CALCULATED, "passed", "ok"),
        *((row, "passed", "ok") for row in (LIKED, DISLIKED, STEPS, STEPS_TO_FALSE, STEPS_CALCULATED)),
        (everywhere(CALCULATED, ("= 25", "= 26")), "failed", "elaboration_error"),
        # A label, and all that hangs on it, of what Lean does not prove.
        (everywhere(STEPS, ("answer = 26", "answer = 27"), ("is 26", "is 27")), "failed", "elaboration_error"),
        ({**STEPS_TO_FALSE, "labels": [True, False], "prompt": "Another?"}, "failed", "seal"),
        # Nothing that Lean objects to: the seal alone finds it.
        (changed(SFT, ("subst_vars", "subst_vars ")) | {SEAL: SFT[SEAL]}, "failed", "seal"),
        (everywhere(SFT, ("left_over = 13", "left_over ≥ 13")) | {SEAL: SFT[SEAL]}, "failed", "seal"),
        ({key: SFT[key] for key in SFT if key != SEAL}, "failed", "seal"),
        # Sealed anew, and false: the question, the claims, the proofs.
        (changed(SFT, ("eggs = 16", "eggs = 15")), "failed", "elaboration_error"),
        (changed(SFT, ("eggs = 16", "eggs ≥ 16")), "failed", "elaboration_error"),
        (changed(SFT, ("eggs - eaten)", "eggs + eaten)")), "failed", "elaboration_error"),
        (everywhere(SFT, ("13", "14"), ("16 - 3", "17 - 3")), "failed", "elaboration_error"),
        (everywhere(SFT, ("answer = 26", "answer = 27"), ("is 26", "is 27")), "failed", "elaboration_error"),
        (everywhere(DPO, ("answer = 25", "answer = 26"), ("is 25", "is 26")), "failed", "elaboration_error"),
        (changed(SFT, (BY, " := by\n  skip")), "failed", "elaboration_error"),
        (changed(SFT, (BY, " := by\n  sorry")), "failed", "gate"),
        (changed(SFT, (BY, " := by\n  subst_vars\n  native_decide")), "failed", "gate"),
        (changed(SFT, (BY, f"{BY}\n\naxiom cheat : False")), "failed", "gate"),
        (changed(SFT, (BY, " := by\n  exact cheat.elim")), "failed", "elaboration_error"),
        # From contradictory hypotheses all follows, and Lean has no objection.
        (changed(SFT, ("(h_eggs : eggs = 16)", "(h_eggs : eggs = 16) (h_more : eggs = 17)")), "failed", "vacuous"),
    ],
)
def test_lean_finds_what_is_sealed_anew(prover: Prover, row: Row, status: str, reason: str) -> None:
    finding = audited(prover, row)
    assert (finding.status, finding.reason) == (status, reason), finding.detail


def rltpf(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rltpf", *map(str, arguments)]
    return subprocess.run(command, check=False, capture_output=True, text=True)


@pytest.mark.lean
@pytest.mark.slow
def test_a_run_passes_and_one_changed_digit_in_it_does_not(lean_installed: None, tmp_path: Path) -> None:
    run, output = tmp_path / "run", tmp_path / "audited.jsonl"
    made = ("--dataset.limit", 3, "--prover.workers", 1, "--output_dir", run)
    assert rltpf("generate", "--config", "configs/generate/demo.yaml", *made).returncode == 0
    rows = [json.loads(line) for name in COLUMNS for line in (run / f"{name}.jsonl").read_text().splitlines()]

    passed = rltpf("audit", run, "--toolchain", "embedded", "--output", output)
    assert passed.returncode == 0, passed.stdout + passed.stderr
    table = [line.split() for line in passed.stdout.splitlines()]
    assert ["rows", str(len(rows))] in table
    assert ["passed", str(len(rows))] in table
    found = {"status": "passed", "reason": "ok", "detail": ""}
    assert [json.loads(line) for line in output.read_text().splitlines()] == [row | found for row in rows]

    sft = run / "sft.jsonl"
    first, *others = sft.read_text().splitlines(keepends=True)
    sft.write_text("".join((first.replace("Rat) (", "Rat)  (", 1), *others)))
    failed = rltpf("audit", sft, "--toolchain", "embedded")
    assert failed.returncode == 1
    assert ["passed", str(len(others))] in [line.split() for line in failed.stdout.splitlines()]
    assert failed.stdout.splitlines()[-1].startswith(f"{sft}:1: ")
    # The audited rows are audited as the rows that they were.
    assert rltpf("audit", output, "--toolchain", "embedded").returncode == 0


def test_input_that_is_none_is_refused_with_a_line_a_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = tmp_path / "data.jsonl"
    bad: list[Any] = [
        {"id": "a", "text": "…"},
        {key: DPO[key] for key in DPO if key != "rejected_lean"},
        {**SFT, "lean": 3},
        {**SFT, "steps": [{**SFT["steps"][0], "outcome": "true"}]},
        {**SFT, "completion": "\ud83d"},
        {**LIKED, "label": "yes"},
        {**STEPS, "labels": [True, 1]},
        {key: STEPS[key] for key in STEPS if key != "prompt"},
        [],
    ]
    data.write_text("".join(f"{json.dumps(row)}\n" for row in (SFT, *bad)))
    assert main(["audit", str(data)]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(": ")[0] for line in lines] == [f"{data}:{n}" for n in range(2, 11)]
    for name, line in zip(
        ["chosen", "rejected_lean", "lean", "outcome", "surrogate", "label", "labels.1", "prompt", "list"],
        lines,
        strict=True,
    ):
        assert name in line
    data.write_text(to_jsonl([SFT]))
    for arguments in (
        [str(tmp_path)],
        [str(tmp_path / "none.jsonl")],
        [str(data), "--output", str(tmp_path)],
        [str(data), "--output", "-"],
        [str(data), "--colour", "red"],
    ):
        assert main(["audit", *arguments]) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


class Counting(AgreeableProver):
    checks = 0

    async def check(self, statement: str, submission: str) -> Report:
        self.checks += 1
        return await super().check(statement, submission)


def test_the_answers_that_data_sets_share_are_checked_once(tmp_path: Path) -> None:
    """Two answers of two theorems each, in four data sets, as files and as a folder."""
    files = {"sft": [SFT], "dpo": [DPO], "unpaired": [LIKED, DISLIKED], "stepwise": [STEPS, STEPS_TO_FALSE]}
    for kind, rows in files.items():
        (tmp_path / f"{kind}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    folder = tmp_path / "dataset"
    save_folder(folder, {kind: tmp_path / f"{kind}.jsonl" for kind in files}, "")
    placed = read_rows(find_data_sets([str(tmp_path), str(folder)]))
    prover = Counting()
    found, answered = asyncio.run(audit_rows(prover, [row for _, row in placed], workers=1))
    assert [finding.status for finding in found] == ["passed"] * 12
    assert (prover.checks, [finding.theorems for finding in answered]) == (4, [2, 2])
    assert [place for place, _ in placed][-2:] == [f"{folder}/stepwise: row {number}" for number in (1, 2)]

    # A folder that is not whole is one line.
    (folder / "sft" / "state.json").unlink()
    with pytest.raises(InputError, match=f"^{folder}: cannot be loaded: "):
        read_rows([folder])


def test_more_faults_than_can_be_read_are_counted(tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text("{}\n" * 25)
    with pytest.raises(InputError, match=r"\n5 more faults$"):
        read_rows([data])
    data.write_text("\n")
    with pytest.raises(InputError, match="no rows to audit"):
        read_rows([data])

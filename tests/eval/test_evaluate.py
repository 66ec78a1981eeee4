import argparse
import json
import re
from pathlib import Path

import pytest

from eval import commands
from eval.benchmarks import BENCHMARKS
from eval.evaluate import evaluate
from eval.page import render
from eval.score import grade
from eval.settings import EvaluateConfig
from rltpf.config import load
from rltpf.errors import InputError, RunError
from rltpf.llm.model import Completion, Message, Request, Sampling
from rltpf.llm.transcript import Transcript
from rltpf.records import Problem
from tests.eval.fakes import Never

# Question, gold solution, recorded reply, its end; the fourth question has no recorded reply.
ROWS = [
    ("How many eggs?", "9 * 2 = 18\n#### 18", "Step 1: 9 * 2 = 18\nThe answer is 18.", "stop"),
    ("How much money?", "#### 1,000", "It is $1,000 in all", "stop"),
    ("How many days?", "#### 7", "Step 1: 3 + 4 = 7\nThe answer is 7", "length"),
    ("How many weeks?", "#### 2", None, ""),
]


def arguments(folder: Path, rows: int) -> list[str]:
    """The command's words for the first rows, answered from a recorded transcript."""
    data = folder / "rows.jsonl"
    data.write_text("".join(json.dumps({"question": q, "answer": gold}) + "\n" for q, gold, _, _ in ROWS[:rows]))
    transcript = Transcript(folder / "recorded.jsonl")
    for question, _, reply, finish in ROWS[:rows]:
        if reply is not None:
            message = Message("user", BENCHMARKS["gsm8k"].prompt(question))
            request = Request("solver", (message,), Sampling(0.0, 1.0, 64))
            transcript.add("recorded", request, Completion(reply, finish, 30, 10))
    transcript.close()
    return [
        f"--output_dir={folder / 'out'}",
        f"--dataset.path={data}",
        "--llm.backend=replay",
        "--llm.model=recorded",
        f"--llm.transcript={folder / 'recorded.jsonl'}",
        "--llm.max_tokens=64",
    ]


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    commands.register(parser.add_subparsers())
    args, overrides = parser.parse_known_args(words)
    code: int = args.run(args, overrides)
    return code


def test_evaluate_writes_samples_metrics_results_and_a_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("evaluate", *arguments(tmp_path, 2)) == 0
    out = tmp_path / "out"
    metrics = json.loads((out / "metrics.json").read_text())
    assert (metrics["n"], metrics["failed"], metrics["model"]) == (2, 0, "recorded")
    assert {name: score["right"] for name, score in metrics["scores"].items()} == {
        "strict": 1,
        "lenient": 2,
        "math_verify": 2,
    }
    first, second = (json.loads(line) for line in (out / "samples.jsonl").read_text().splitlines())
    assert (first["question"], first["gold"], first["strict"], first["lenient"]) == ("How many eggs?", "18", "18", "18")
    assert first["prompt"].startswith("How many eggs?")
    assert (second["strict"], second["lenient"], second["correct_strict"]) == (None, "$1,000", False)
    (results,) = out.glob("results_*.json")
    content = json.loads(results.read_text())
    assert content["config"]["llm"]["max_tokens"] == 64
    assert content["versions"]["math-verify"]
    assert content["scores"] == metrics["scores"]
    table = capsys.readouterr().out
    assert "| strict | 1 / 2 | 50.0 | 50.0 | 9.5 to 90.5 |" in table  # Wilson of 1 of 2, z = 1.96
    assert "No answer found: 1 strict, 0 lenient, of 2. Cut by max_tokens (64): 0." in table


def test_a_second_start_asks_nothing_and_ends_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = arguments(tmp_path, 2)
    run("evaluate", *words)
    before = (tmp_path / "out" / "samples.jsonl").read_bytes()
    capsys.readouterr()
    assert run("evaluate", *words) == 0
    assert "0 calls (2 cached)" in capsys.readouterr().err
    assert (tmp_path / "out" / "samples.jsonl").read_bytes() == before


def test_cut_replies_and_rows_without_a_reply_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("evaluate", *arguments(tmp_path, 4)) == 1
    table = capsys.readouterr().out
    assert "Cut by max_tokens (64): 1. Rows without all replies, and in no score: 1." in table
    assert "| strict | 1 / 3 |" in table
    samples = [json.loads(line) for line in (tmp_path / "out" / "samples.jsonl").read_text().splitlines()]
    assert samples[3]["error"]["reason"] == "no_reply"


def test_no_reply_at_all_is_no_score(tmp_path: Path) -> None:
    words = arguments(tmp_path, 1)
    (tmp_path / "rows.jsonl").write_text(json.dumps({"question": "Another?", "answer": "#### 1"}) + "\n")
    with pytest.raises(RunError, match="no row has all its replies"):
        run("evaluate", *words)
    assert not (tmp_path / "out" / "metrics.json").exists()


def test_dry_run_shows_config_and_prompt_and_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("evaluate", "--dry_run", *arguments(tmp_path, 2)) == 0
    printed = capsys.readouterr().out
    assert "max_tokens: 64" in printed
    assert "--- first of 2 prompts (solver) ---\nHow many eggs?" in printed
    assert not (tmp_path / "out").exists()


def test_one_sample_is_greedy_and_several_are_not(tmp_path: Path) -> None:
    words = arguments(tmp_path, 1)
    with pytest.raises(InputError, match=r"llm.temperature: is 0.7, and one sample a row is scored greedily"):
        load(EvaluateConfig, None, [*words, "--llm.temperature=0.7"])
    with pytest.raises(InputError, match=r"llm.temperature: is 0, and 4 samples would all be the same"):
        load(EvaluateConfig, None, [*words, "--samples=4"])
    assert load(EvaluateConfig, None, words).llm.temperature == 0
    assert load(EvaluateConfig, None, [*words, "--samples=4", "--llm.temperature=0.7"]).samples == 4


def test_several_samples_have_columns_of_their_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = arguments(tmp_path, 1)
    message = Message("user", BENCHMARKS["gsm8k"].prompt(ROWS[0][0]))
    transcript = Transcript(tmp_path / "recorded.jsonl")
    for number, answer in enumerate(("18", "17", "18")):
        request = Request("solver", (message,), Sampling(0.6, 1.0, 64, 42)).sample(number)
        transcript.add("recorded", request, Completion(f"The answer is {answer}.", "stop", 30, 10))
    transcript.close()
    assert run("evaluate", *words, "--samples=3", "--llm.temperature=0.6") == 0
    table = capsys.readouterr().out
    assert "| gsm8k v1, pass@1[avg-of-3] | right | % | ± | 95 % interval | pass@2 | pass@3 | maj@3 |" in table
    assert "| strict | 2 / 3 | 66.7 | - | 0.0 to 100.0 | 100.0 ± - | 100.0 ± - | 100.0 ± - |" in table
    samples = [json.loads(line) for line in (tmp_path / "out" / "samples.jsonl").read_text().splitlines()]
    assert [(sample["number"], sample["strict"]) for sample in samples] == [(0, "18"), (1, "17"), (2, "18")]


def test_the_page_holds_replies_as_data(tmp_path: Path) -> None:
    attack = "</script><script>alert(1)</script><!-- {{ title }} {{ rows }} \u2028 The answer is 18."
    row = Problem("r", "<b>How many?</b>", "18")
    samples = [grade(row, "p", Completion(attack), Never())]
    text = render({"model": "a<b", "benchmark": {"name": "gsm8k", "version": 1}}, samples)
    assert "<title>a&lt;b on gsm8k v1</title>" in text
    assert text.count("<script>") == text.count("</script>") == 1
    (data,) = re.findall(r"^const rows = (.*);$", text, re.MULTILINE)
    (read,) = json.loads(data)
    assert (read["output"], read["question"], read["correct_strict"]) == (attack, "<b>How many?</b>", True)
    assert (read["lenient"], read["error"]) == (samples[0].lenient, None)


def test_the_list_of_benchmarks_needs_no_config(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("evaluate", "--list") == 0
    assert "| aqua | 1 | question, options, correct |" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["gsm8k", "demo_smollm2"])
def test_shipped_configs_load(name: str) -> None:
    path = Path(__file__).parents[2] / "configs" / "evaluate" / f"{name}.yaml"
    config = load(EvaluateConfig, path, ["--output_dir=out", "--llm.model=m"])
    assert config.benchmark == "gsm8k"
    assert path.read_text().startswith("# ")


@pytest.mark.slow
def test_a_local_model_is_scored_and_retrained_weights_are_refused(tmp_path: Path, tiny_model: Path) -> None:
    import shutil

    model = shutil.copytree(tiny_model, tmp_path / "model")
    words = [word for word in arguments(tmp_path, 3) if not word.startswith("--llm")]
    words += ["--llm.backend=transformers", f"--llm.model={model}", "--llm.max_tokens=8"]
    config = load(EvaluateConfig, None, words)
    metrics = evaluate(config)
    assert (metrics["n"], metrics["failed"]) == (3, 0)
    assert evaluate(config)["scores"] == metrics["scores"]
    with (model / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x7f")
    with pytest.raises(InputError, match="other weights than those now in"):
        evaluate(config)
    assert evaluate(config, overwrite=True)["n"] == 3


def test_report_prints_summary_and_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    (folder / "sft").mkdir(parents=True)
    (folder / "sft" / "log_history.jsonl").write_text('{"step": 1, "loss": 2.0}\n{"step": 2, "loss": 1.0}\n')
    assert run("report", str(folder)) == 0
    printed = capsys.readouterr().out
    assert "- SFT ran 2 steps, loss 2.000 to 1.000." in printed
    assert printed.endswith(f"report: {folder}/report.md\n")

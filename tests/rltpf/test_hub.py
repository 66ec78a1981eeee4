"""Without a hub: one look at it, no waiting, and a line that says what to give instead."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rltpf import hub
from rltpf.cli import main
from rltpf.errors import InputError

NOWHERE = "http://127.0.0.1:9"
LACKING = (
    f"is no path here and not in the Hugging Face cache, and {NOWHERE} cannot be reached ([Errno 111] Connection "
    "refused): give a local path"
)
CONFIG = """
output_dir: o
dataset: {path: d.jsonl}
llm: {model: own/model, backend: transformers}
"""


@pytest.fixture(autouse=True)
def no_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """What the libraries are told is taken back at the end."""
    import datasets
    from huggingface_hub import constants

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_ENDPOINT", NOWHERE)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
    forget = hub.unreachable.cache_clear
    forget()
    yield
    forget()


def run(arguments: str, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    began = time.monotonic()
    code = main(arguments.split())
    # The libraries' own tries take half a minute for each file.
    assert time.monotonic() - began < 15
    return code, capsys.readouterr().err


def test_the_libraries_are_told_that_there_is_no_hub() -> None:
    import datasets
    from huggingface_hub import is_offline_mode

    assert not is_offline_mode()
    assert hub.lacking("own/model") == LACKING
    assert is_offline_mode()
    assert datasets.config.HF_HUB_OFFLINE


def test_a_proxy_that_cannot_be_used_is_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """httpx is installed without SOCKS here; as with the hub, so with a model's server."""
    from rltpf.llm.openai import OpenAIModel
    from rltpf.llm.settings import ModelConfig

    monkeypatch.setenv("ALL_PROXY", "socks5h://127.0.0.1:9")
    assert "Using SOCKS proxy, but the 'socksio' package is not installed" in hub.lacking("own/model")
    with pytest.raises(InputError, match=r"^llm: the proxy in the environment cannot be used: Using SOCKS proxy"):
        OpenAIModel(ModelConfig(model="m", base_url="http://far.example/v1"))


def test_what_is_here_needs_no_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub, "unreachable", lambda: pytest.fail("the hub was asked"))
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    hub.refuse_missing_model("llm.model", "model")
    assert hub.lacking("model") == ""


def test_a_model_in_the_cache_needs_no_hub(tmp_path: Path) -> None:
    snapshot = tmp_path / "hub" / "models--own--model" / "snapshots" / "1f"
    snapshot.mkdir(parents=True)
    with pytest.raises(InputError, match="not in the Hugging Face cache"):
        hub.refuse_missing_model("llm.model", "own/model")
    (snapshot / "config.json").write_text("{}")
    hub.refuse_missing_model("llm.model", "own/model")


def test_an_adapter_whose_base_is_nowhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "adapter").mkdir()
    (tmp_path / "adapter" / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "own/base"}))
    with pytest.raises(InputError) as caught:
        hub.refuse_missing_model("llm.model", "adapter")
    assert str(caught.value) == f"llm.model: adapter: its base model: own/base: {LACKING}"


@pytest.mark.parametrize("command", ["generate", "rewrite", "evaluate --benchmark jsonl"])
@pytest.mark.parametrize("dry", ["", " --dry_run"])
def test_a_model_that_is_nowhere_is_named_before_the_data_is_read(
    command: str, dry: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.yaml").write_text(CONFIG)
    code, said = run(f"{command} --config c.yaml --llm.temperature 0{dry}", capsys)
    assert (code, said) == (2, f"llm.model: own/model: {LACKING}\n")
    assert not (tmp_path / "o").exists()


def test_the_model_of_a_role_that_is_nowhere_is_named_with_its_role(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "c.yaml").write_text(CONFIG)
    words = "--llm.backend openai --llm.roles.judge.backend transformers --llm.roles.judge.model ./none"
    code, said = run(f"generate --config c.yaml {words}", capsys)
    fault = "is no folder with a model (config.json, adapter_config.json or a .gguf file)"
    assert (code, said) == (2, f"llm.roles.judge.model: ./none: {fault}\n")


def test_data_that_is_nowhere_is_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "c.yaml").write_text(CONFIG)
    words = "--dataset.path own/data --llm.backend openai --llm.base_url http://127.0.0.1:9/v1"
    code, said = run(f"generate --config c.yaml {words}", capsys)
    assert (code, said) == (2, f"own/data: {LACKING} (dataset.path)\n")


def test_training_names_the_model_and_the_data_that_are_nowhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {"prompt": [{"role": "user", "content": "q"}], "completion": [{"role": "assistant", "content": "a"}]}
    (tmp_path / "sft.jsonl").write_text(json.dumps(row) + "\n")
    code, said = run("train sft --output_dir o --model_name_or_path own/model --dataset_name sft.jsonl", capsys)
    assert (code, said) == (2, f"model_name_or_path: own/model: {LACKING}\n")
    code, said = run("train sft --output_dir o --model_name_or_path own/model --dataset_name own/data", capsys)
    assert (code, said) == (2, f"own/data: {LACKING} (dataset_name)\n")
    assert not (tmp_path / "o").exists()


def test_a_folder_of_a_run_is_told_what_it_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    (folder / "dataset").mkdir(parents=True)
    (folder / "dataset" / "dataset_dict.json").write_text("{}")
    for name, row in (("answers", {"a": 1}), ("sft", {"prompt": []}), ("unpaired", {"label": True})):
        (folder / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    holds = "it holds answers.jsonl, sft.jsonl, unpaired.jsonl, dataset: name one of them, such as"
    (tmp_path / "c.yaml").write_text(CONFIG)
    for command, given in (
        ("train sft --output_dir o --model_name_or_path m --dataset_name run", "run/sft.jsonl"),
        ("train kto --output_dir o --model_name_or_path m --dataset_name run", "run/unpaired.jsonl"),
        ("generate --config c.yaml --dataset.path run --llm.backend openai", "run/answers.jsonl"),
    ):
        code, said = run(command, capsys)
        assert code == 2
        assert said.endswith(f"; {holds} {given}\n")
        assert len(said.splitlines()) == 1

"""An output folder belongs to one run: it goes on, is finished, or refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from training_rows import sft_row, write_rows

from rltpf.errors import InputError
from rltpf.train.folder import RunFolder, check_start
from rltpf.train.options import Options


@pytest.fixture
def options(tmp_path: Path) -> Options:
    data = write_rows(tmp_path / "a.jsonl", [sft_row(1)])
    values = {"output_dir": str(tmp_path / "out"), "dataset_name": str(data), "learning_rate": 0.1, "logging_steps": 1}
    return Options("sft", values, [])


def changed(options: Options, **values: object) -> Options:
    return Options(options.kind, {**options.values, **values}, [])


def add_checkpoint(options: Options, step: int, text: str = "{}") -> Path:
    path = Path(options.get("output_dir"), f"checkpoint-{step}")
    path.mkdir(parents=True)
    (path / "trainer_state.json").write_text(text)
    return path


def test_a_run_goes_on_and_is_then_finished(options: Options) -> None:
    folder = RunFolder(options)
    assert not folder.finished
    folder.start()
    (folder.path / "ref").mkdir()
    again = RunFolder(changed(options, logging_steps=5))
    assert not again.finished
    again.finish([{"step": 1, "loss": 2.0}])
    assert RunFolder(options).finished
    assert json.loads((folder.path / "log_history.jsonl").read_text()) == {"step": 1, "loss": 2.0}
    assert not (folder.path / "ref").exists()


def test_other_settings_are_refused_by_name(options: Options) -> None:
    RunFolder(options).start()
    with pytest.raises(
        InputError, match=r"other settings or data: learning_rate \(there 0.1, here 0.2\)\. Pick another"
    ):
        RunFolder(changed(options, learning_rate=0.2))
    assert not RunFolder(changed(options, learning_rate=0.2, overwrite_output_dir=True)).finished


def test_other_data_under_the_same_name_is_refused(options: Options) -> None:
    RunFolder(options).start()
    write_rows(Path(options.get("dataset_name")), [sft_row(2)])
    with pytest.raises(InputError, match=r"dataset_name \(there 'sha256:"):
        RunFolder(options)


def test_another_number_of_processes_goes_on_with_no_checkpoint(
    options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    started = RunFolder(options)
    started.start()
    monkeypatch.setenv("WORLD_SIZE", "1")
    RunFolder(options)
    add_checkpoint(options, 3)
    with pytest.raises(InputError) as caught:
        RunFolder(options)
    assert caught.value.faults == (
        f"{started.path} holds a run that is not finished, of 2 processes where this is one of 1. Launch 2 "
        "(accelerate's --num_processes), or start again with --overwrite_output_dir true",
    )
    RunFolder(changed(options, overwrite_output_dir=True))
    started.finish([])
    assert RunFolder(options).finished


def test_newest_complete_checkpoint_is_taken(options: Options) -> None:
    folder = RunFolder(options)
    assert folder.checkpoint() is None
    add_checkpoint(options, 9)
    newest = add_checkpoint(options, 10)
    add_checkpoint(options, 11, "{torn")
    assert folder.checkpoint() == str(newest)
    assert RunFolder(changed(options, overwrite_output_dir=True)).checkpoint() is None
    with pytest.raises(InputError, match="no complete checkpoint there"):
        RunFolder(changed(options, overwrite_output_dir=True, resume_from_checkpoint="nowhere")).checkpoint()


def test_checkpoints_of_another_program_are_not_touched(options: Options) -> None:
    path = add_checkpoint(options, 3)
    with pytest.raises(InputError, match="a run that is not ours"):
        RunFolder(options)
    RunFolder(changed(options, overwrite_output_dir=True)).start()
    assert not path.exists()


def test_a_file_in_the_place_of_the_folder_is_a_clear_fault(options: Options) -> None:
    Path(options.get("output_dir")).write_text("")
    with pytest.raises(InputError, match="out: Not a directory: pick another --output_dir"):
        RunFolder(options)


def test_an_adapter_folder_that_lacks_a_file_is_refused_by_its_name(options: Options, tmp_path: Path) -> None:
    (tmp_path / "adapter_config.json").write_text("{}")
    adapter = changed(options, adapter_name_or_path=str(tmp_path))
    with pytest.raises(InputError, match=r"no adapter_model\.\* there: give the output_dir of a LoRA run"):
        check_start(adapter)
    (tmp_path / "adapter_model.safetensors").touch()
    check_start(adapter)
    (tmp_path / "adapter_config.json").rename(tmp_path / "config.json")
    with pytest.raises(InputError, match=r"no adapter_config\.json there"):
        check_start(adapter)

"""Training that learns nothing is stopped with its likely cause."""

from __future__ import annotations

import math
from importlib.metadata import version
from typing import Any

import pytest

from rltpf.errors import InputError, RunError
from rltpf.train import options, versions
from rltpf.train.options import known_options
from rltpf.train.trainers import Guard


@pytest.mark.parametrize("logs", [{"loss": math.nan}, {"loss": math.inf}, {"loss": 1.0, "grad_norm": math.nan}])
def test_a_number_that_is_none_stops_at_once(logs: dict[str, float]) -> None:
    with pytest.raises(RunError, match=r"step 3: loss .*learning rate"):
        Guard().check(3, logs)


@pytest.mark.parametrize(
    ("logs", "cause"),
    [
        ({"loss": 0.6931471805599453, "grad_norm": 0.5}, "learning rate of zero"),
        ({"loss": 0.0, "grad_norm": 0.0}, "max_length cuts"),
    ],
)
def test_five_logs_without_movement_stop(logs: dict[str, float], cause: str) -> None:
    guard = Guard()
    for step in range(1, 5):
        guard.check(step, logs)
    with pytest.raises(RunError, match=cause):
        guard.check(5, logs)


def test_learning_warm_up_and_saturated_preferences_pass() -> None:
    guard = Guard()
    for step, loss in enumerate([0.6931, 0.6931, 0.6931, 0.6931, 0.69, *[0.0] * 20]):
        guard.check(step, {"loss": loss, "grad_norm": 1e-9})
        guard.check(step, {"eval_loss": math.nan})


def test_versions_that_are_not_known_are_refused_in_one_line_each(monkeypatch: pytest.MonkeyPatch) -> None:
    installed: dict[str, Any] = {"trl": "2.0.0", "transformers": "5.22.2", "peft": "0.21.2"}
    monkeypatch.setattr(versions, "version", installed.__getitem__)
    # They are looked at before TRL's files, which another version may have elsewhere.
    known_options.cache_clear()
    with pytest.raises(InputError) as error:
        known_options("sft")
    assert error.value.faults == (
        "trl 2.0.0 is installed and 1.16 or newer, below 2, is needed: `pip install 'trl>=1.16,<2'`",
        "transformers 5.22.2 is installed and 5.23 or newer, below 6, is needed: `pip install 'transformers>=5.23,<6'`",
    )


def test_a_library_that_has_moved_its_options_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    moved = [("trl", "trainer/gone.py", "SFTConfig"), ("trl", "trainer/sft_config.py", "GoneConfig")]
    for package, file, name in moved:
        monkeypatch.setitem(options._CLASSES, "sft", [(package, file, name)])
        known_options.cache_clear()
        with pytest.raises(InputError) as error:
            known_options("sft")
        assert str(error.value) == (
            f"trl {version('trl')} has no {name} in {file}: install the version in constraints.txt"
        )

from __future__ import annotations

import asyncio
import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rltpf import pipeline, progress
from rltpf.llm.model import Completion
from rltpf.llm.usage import Usage
from rltpf.progress import Progress
from rltpf.records import Failure


def drive(items: Any, stage: Any, concurrency: int = 4, **options: Any) -> list[Any]:
    kept: list[Any] = []
    asyncio.run(pipeline.run(items, stage, kept.append, concurrency=concurrency, **options))
    return kept


def test_every_item_is_kept_once_and_never_more_than_allowed_are_in_flight() -> None:
    now = most = 0

    async def stage(item: int) -> int:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.001 * (item % 3))
        now -= 1
        return item * item

    kept = drive(range(100), stage, concurrency=7)
    assert sorted(kept) == [n * n for n in range(100)]
    assert most == 7


def test_items_are_drawn_only_when_there_is_room() -> None:
    drawn = kept = 0

    def items() -> Iterator[int]:
        nonlocal drawn
        for number in range(50):
            drawn += 1
            assert drawn - kept <= 3
            yield number

    async def stage(item: int) -> int:
        await asyncio.sleep(0)
        return item

    def keep(result: int) -> None:
        nonlocal kept
        kept += 1

    asyncio.run(pipeline.run(items(), stage, keep, concurrency=3))
    assert (drawn, kept) == (50, 50)


def test_an_unexpected_exception_is_raised_when_the_items_in_flight_are_kept() -> None:
    begun: list[int] = []
    kept: list[int] = []

    async def stage(item: int) -> int:
        begun.append(item)
        if item == 3:
            raise ZeroDivisionError("item 3")
        await asyncio.sleep(0.02)
        return item

    with pytest.raises(ZeroDivisionError, match="item 3"):
        asyncio.run(pipeline.run(range(100), stage, kept.append, concurrency=4))
    assert sorted(begun) == [0, 1, 2, 3]
    assert sorted(kept) == [0, 1, 2]


def test_a_result_that_cannot_be_kept_stops_the_run() -> None:
    async def stage(item: int) -> int:
        return item

    def full(result: int) -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        asyncio.run(pipeline.run(range(100), stage, full, concurrency=4))


def test_a_source_that_fails_is_raised_after_what_it_gave_is_kept() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("row 2")

    async def stage(item: int) -> int:
        await asyncio.sleep(0.01)
        return item

    kept: list[int] = []
    with pytest.raises(ValueError, match="row 2"):
        asyncio.run(pipeline.run(items(), stage, kept.append, concurrency=4))
    assert kept == [1]


CTRL_C = """
import asyncio, sys
from pathlib import Path
from types import SimpleNamespace
from rltpf import cli, pipeline
from rltpf.journal import Journal

def items():
    for number in range(1000):
        yield str(number)

async def stage(item):
    if int(item) >= 20:
        print("waiting", flush=True)
        await asyncio.sleep(60)
    return {"id": item}

def command(args, overrides):
    journal = Journal(Path(sys.argv[1]))
    asyncio.run(pipeline.run(items(), stage, journal.append, concurrency=4))
    return 0

class Parser:
    def parse_known_args(self, words):
        import argparse
        return argparse.Namespace(run=command), []

cli.build_parser = Parser
sys.exit(cli.main([]))
"""


def test_ctrl_c_keeps_what_is_finished_and_says_how_to_go_on(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    child = subprocess.Popen(
        [sys.executable, "-c", CTRL_C, str(tmp_path / "j.jsonl")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    assert child.stdout is not None
    for _ in range(4):
        assert child.stdout.readline() == "waiting\n"
    began = time.monotonic()
    child.send_signal(signal.SIGINT)
    _, errors = child.communicate(timeout=20)
    assert child.returncode == 130
    assert errors == "interrupted; what is finished is kept: start the same command again to go on\n"
    assert time.monotonic() - began < 10
    assert sorted((tmp_path / "j.jsonl").read_text().split("\n")) == sorted(
        ["", *(f'{{"id": "{n}"}}' for n in range(20))]
    )


def test_conservation_is_printed_or_refused(capsys: pytest.CaptureFixture[str]) -> None:
    line = pipeline.conserve("s2", 24, 20, {"not_elaborated": 3, "infra": 1, "timeout": 0})
    assert line == "s2: 24 in = 20 kept + 1 infra + 3 not_elaborated"
    assert capsys.readouterr().err == line + "\n"
    with pytest.raises(AssertionError, match="rows were lost or doubled"):
        pipeline.conserve("s2", 25, 20, {"not_elaborated": 3, "infra": 1})


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=clock))
    return clock


def test_plain_progress_is_a_line_now_and_then(clock: Clock) -> None:
    stream = io.StringIO()
    usage = Usage()
    usage.count("judge", Completion("x", prompt_tokens=900, completion_tokens=334))
    usage.count("judge", Completion("x", cached=True))
    with Progress("questions", total=100, done=10, usage=usage, stream=stream) as shown:
        for number in range(60):
            clock.now += 0.5
            shown.advance(failed=number < 2)
    assert stream.getvalue().splitlines() == [
        "questions: resuming: 10 done, 90 left",
        "questions: 40/100 done, 2 failed, 2/s, 0:30 to go, 1 calls (1 cached), 1,234 tokens",
        "questions: 70/100 done, 2 failed, 2/s, 0:15 to go, 1 calls (1 cached), 1,234 tokens",
        "questions: 70/100 done, 2 failed, 2/s, 0:15 to go, 1 calls (1 cached), 1,234 tokens",
    ]


def test_progress_of_an_unknown_number_and_of_nothing(clock: Clock) -> None:
    stream = io.StringIO()
    with Progress("rows", stream=stream) as shown:
        clock.now = 3700.0
        shown.advance()
    assert stream.getvalue().splitlines() == ["rows: 1 done, 0.00027/s, 1:01:40"] * 2


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_the_clock_goes_on_while_all_wait_for_one_reply(clock: Clock) -> None:
    stream = Terminal()
    with Progress("rows", total=2, stream=stream):
        clock.now = 83.0
        deadline = time.monotonic() + 10
        while "rows: 0/2 done, 1:23" not in stream.getvalue() and time.monotonic() < deadline:
            time.sleep(0.02)
        assert "rows: 0/2 done, 1:23" in stream.getvalue()


def test_on_a_terminal_progress_is_one_live_line(clock: Clock) -> None:
    stream = Terminal()
    with Progress("[b]", total=2, stream=stream) as shown:
        clock.now = 1.0
        shown.advance()
        shown.advance()
    # After the live line is erased, the last state stays.
    assert stream.getvalue().endswith("\x1b[2K[b]: 2/2 done, 2/s, 0:01\n")


def test_progress_counts_records_and_rows_with_an_error() -> None:
    class Kept:
        error: Failure | None = None

    class Lost:
        error = Failure("s1", "x")

    results = [Kept(), Lost(), {"error": None}, {"error": {"stage": "s1"}}, {"id": 1}, 7]

    async def stage(item: object) -> object:
        return item

    with Progress("rows", stream=io.StringIO()) as shown:
        drive(results, stage, progress=shown)
    assert (shown.done, shown.failed) == (6, 2)

"""One course of training for SFT and DPO; errors become one line each and an exit code, said by one process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext

from rltpf import tracking
from rltpf.errors import InputError, RunError
from rltpf.train.data import evaluation_rows, training_rows
from rltpf.train.folder import RunFolder, check_start, is_main_process, say
from rltpf.train.options import Kind, read_options
from rltpf.train.report import card_writer, provenance, reported


def run(main: Callable[[Sequence[str]], int], argv: Sequence[str]) -> int:
    """`main(argv)`: its own code, 2 for faults of the input, 1 when the training failed, 130 when interrupted."""
    try:
        return main(argv)
    except InputError as error:
        for fault in error.faults:
            say(f"error: {fault}")
        return 2
    except RunError as error:
        say(f"error: {error}")
        return 1
    except KeyboardInterrupt:
        say("interrupted: the same command goes on from the newest checkpoint")
        return 130


def train(kind: Kind, argv: Sequence[str]) -> int:
    """Train; 0 when done or already done. Raises `InputError` for what the user can mend, before a model is loaded."""
    options = read_options(kind, argv)
    folder = RunFolder(options)
    if folder.finished:
        say(f"{kind}: {folder.path} is finished already; --overwrite_output_dir true trains again")
        return 0
    check_start(options)
    reports = is_main_process() and tracking.is_asked_for(options.get("report_to"))
    if reports:
        tracking.check()
    rows, evaluation = training_rows(options), evaluation_rows(options)
    data = provenance(folder, len(rows))

    from rltpf.train import trainers

    trainer = trainers.build(options, trainers.parse(options), rows, evaluation)
    with reported(folder, data, rows) if reports else nullcontext() as tracker:
        trainer.create_model_card = card_writer(trainer, folder, data, tracker)
        trainers.fit(trainer, folder)
    return 0

"""One course of training for every kind and stage; errors become one line each and an exit code, of one process."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from rltpf import tracking
from rltpf.errors import InputError, RunError, complaint
from rltpf.hub import refuse_missing_model
from rltpf.runs import held
from rltpf.train.data import evaluation_rows, refuse_shared, training_rows
from rltpf.train.folder import RunFolder, check_start, is_main_process, say
from rltpf.train.options import Kind, Options, read_options
from rltpf.train.report import card_writer, provenance, reported


def run(main: Callable[[Sequence[str]], int], argv: Sequence[str]) -> int:
    """`main(argv)`: its own code, 2 for faults of the input, 1 when the training failed, 130 when interrupted."""
    try:
        return main(argv)
    except InputError as error:
        say(str(error))
        return 2
    except RunError as error:
        say(str(error))
        return 1
    except OSError as error:
        say(complaint(error))
        return 1
    except KeyboardInterrupt:
        say("interrupted: the same command goes on from the newest checkpoint")
        return 130


def train(kind: Kind, argv: Sequence[str]) -> int:
    """Train; 0 when done or already done. Raises `InputError` for what the user can mend, before a model is loaded."""
    return train_stages([read_options(kind, argv)])


def train_stages(stages: Sequence[Options]) -> int:
    """Train one stage after the other, each from where it is; see `train`.

    The data of all stages is checked before the first model is loaded, since hours may lie between them.
    """
    due: list[Options] = []
    for options in stages:
        # A later stage's folder depends on what the one before it leaves.
        if due or not _is_finished(RunFolder(options)):
            due.append(options)
    if not due:
        return 0
    check_start(due[0])
    if any(map(_reports, due)):
        tracking.check()
    data = [(training_rows(options), evaluation_rows(options)) for options in due]
    for rows, evaluation in data:
        refuse_shared(rows, evaluation)
    # Last, since it may ask the hub.
    for key in ("model_name_or_path", "adapter_name_or_path"):
        if name := due[0].get(key):
            refuse_missing_model(key, name)

    from rltpf.train import trainers

    tokenizer = trainers.load_tokenizer(due[0])
    kept = [trainers.check_lengths(options, rows, tokenizer) for options, (rows, _) in zip(due, data, strict=True)]
    for options, rows, (_, evaluation) in zip(due, kept, data, strict=True):
        # One process speaks for all, and another start of the command would write over its checkpoints.
        with held(Path(options.get("output_dir"))) if is_main_process() else nullcontext():
            _train_stage(options, rows, evaluation)
        trainers.release()
    trainers.leave()
    return 0


def _train_stage(options: Options, rows: list[dict[str, Any]], evaluation: list[dict[str, Any]] | None) -> None:
    from rltpf.train import trainers

    folder = RunFolder(options)
    if _is_finished(folder):
        return
    data = provenance(folder, len(rows))
    trainer = trainers.build(options, rows, evaluation)
    with reported(folder, data, rows) if _reports(options) else nullcontext() as tracker:
        trainer.create_model_card = card_writer(trainer, folder, data, tracker)
        trainers.fit(trainer, folder)


def _is_finished(folder: RunFolder) -> bool:
    if folder.finished:
        say(f"{folder.options.kind}: {folder.path} is finished already; --overwrite_output_dir true trains again")
    return folder.finished


def _reports(options: Options) -> bool:
    return is_main_process() and tracking.is_asked_for(options.get("report_to"))

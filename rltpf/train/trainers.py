"""The one module that calls TRL, transformers and peft to train, and knows what changes between their versions.

- TRL 1.16 to 1.x: `DPOTrainer` copies a given adapter to a frozen "ref" adapter, so the reference is the SFT policy and
  costs no second model; `max_length` cuts and drops rows without a word; `loss_type` of DPO is checked only at step 1.
- transformers 5.23 and newer: before, a resumed DPO run silently started again from the SFT adapter.
"""

from __future__ import annotations

import ctypes
import gc
import math
import os
import random
import sys
import time
import warnings
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from rltpf.errors import InputError, RunError
from rltpf.hub import loading
from rltpf.journal import room_in
from rltpf.train.data import refuse_losses, within_length
from rltpf.train.folder import RunFolder, say
from rltpf.train.options import AdapterArguments, Kind, Options

DPO_LOSSES = (
    "sigmoid", "hinge", "ipo", "exo_pair", "nca_pair", "robust", "bco_pair", "sppo_hard", "aot", "aot_unpaired",
    "apo_zero", "apo_down", "discopop", "sft", "sigmoid_norm",
)  # fmt: skip
SFT_LOSSES = ("nll", "dft", "chunked_nll")
KTO_LOSSES = ("kto", "apo_zero_unpaired")

_STUCK_AFTER = 5  # logged steps without any change before the run is called stuck


@dataclass(frozen=True)
class Arguments:
    """TRL's argument objects: `training` is an SFTConfig, DPOConfig or KTOConfig, `model` a ModelConfig."""

    training: Any
    model: Any
    adapter: AdapterArguments


def _config_class(kind: Kind) -> Any:
    import trl

    return {"sft": trl.SFTConfig, "dpo": trl.DPOConfig, "kto": trl.KTOConfig}[kind]


def parse(options: Options) -> Arguments:
    """TRL's own parser on the checked options, so that every TRL option and default holds."""
    quieten()
    from trl import DatasetMixtureConfig, ModelConfig, ScriptArguments, TrlParser

    class Parser(TrlParser):
        def error(self, message: str) -> NoReturn:
            raise InputError(message)

    types: tuple[Any, ...] = (
        ScriptArguments,
        _config_class(options.kind),
        ModelConfig,
        DatasetMixtureConfig,
        AdapterArguments,
    )
    parser = Parser(types)
    parser.set_defaults_with_config(**options.values)
    try:
        _, training, model, _, adapter = parser.parse_args_and_config(options.argv)
    except (ValueError, TypeError, ImportError) as error:  # values that do not go together
        raise InputError(" ".join(str(error).split())) from None
    known = {"sft": SFT_LOSSES, "dpo": DPO_LOSSES, "kto": KTO_LOSSES}[options.kind]
    losses = training.loss_type if options.kind == "dpo" else [training.loss_type]
    faults = [f"loss_type `{loss}` is none of {', '.join(known)}" for loss in losses if loss not in known]
    if getattr(training, "precompute_ref_log_probs", False) and training.world_size > 1:
        faults.append("precompute_ref_log_probs does not work in several processes with rows from memory: leave it out")
    if faults:
        raise InputError(*faults)
    if training.use_cpu:
        _keep_freed_memory()
    # The filter would replace a NaN by the mean of the earlier losses and hide it from the guard below.
    training.logging_nan_inf_filter = False
    return Arguments(training, model, adapter)


def load_mixture(parts: Any) -> Iterable[dict[str, Any]]:
    """The training rows of TRL's `datasets`."""
    from trl import DatasetMixtureConfig, get_dataset

    with loading("datasets"):
        rows: Iterable[dict[str, Any]] = get_dataset(DatasetMixtureConfig(datasets=parts))["train"]
    return rows


def load_tokenizer(options: Options) -> Any:
    """The tokenizer: the starting adapter's where it brings one, since SFT may have changed the template."""
    quieten()
    from transformers import AutoTokenizer

    adapter = options.get("adapter_name_or_path")
    own = adapter is not None and Path(adapter, "tokenizer_config.json").is_file()
    source = adapter if own else options.get("model_name_or_path")
    revision = None if own else options.get("model_revision")
    with loading(f"tokenizer of {source}"):
        tokenizer = AutoTokenizer.from_pretrained(
            source, revision=revision, trust_remote_code=bool(options.get("trust_remote_code"))
        )
        template = options.get("chat_template_path")
        if template and Path(template).is_file():
            tokenizer.chat_template = Path(template).read_text(encoding="utf-8")
        elif template:
            tokenizer.chat_template = AutoTokenizer.from_pretrained(template).chat_template
    return tokenizer


def check_lengths(options: Options, rows: list[dict[str, Any]], tokenizer: Any) -> list[dict[str, Any]]:
    """The rows to train on; says how `max_length` treats them, and raises `InputError` where it spoils more than is
    allowed."""
    arguments = parse(options)
    training = arguments.training
    limit = None if getattr(training, "packing", False) else training.max_length
    keep_end = getattr(training, "truncation_mode", "keep_start") == "keep_end"
    kept, lengths = within_length(options.kind, rows, tokenizer, limit, keep_end)
    say(f"{options.kind}: {lengths}")
    refuse_losses(lengths, limit, arguments.adapter.max_truncated)
    return kept


def load_model(arguments: Arguments) -> Any:
    """The name of the base model, which TRL loads itself, or the base with a trainable adapter to go on from."""
    training, model = arguments.training, arguments.model
    from trl import get_quantization_config

    kwargs = {
        "revision": model.model_revision,
        "attn_implementation": model.attn_implementation,
        "dtype": model.dtype,
        **(training.model_init_kwargs or {}),
    }
    adapter = arguments.adapter.adapter_name_or_path
    if adapter is None:
        training.model_init_kwargs = kwargs
        return model.model_name_or_path
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    training.model_init_kwargs = None
    quantization = get_quantization_config(model)
    with loading(f"{adapter} on {model.model_name_or_path}"):
        base = AutoModelForCausalLM.from_pretrained(
            model.model_name_or_path,
            trust_remote_code=training.trust_remote_code,
            quantization_config=quantization,
            **kwargs,
        )
        return PeftModel.from_pretrained(base, adapter, is_trainable=True)


def build(options: Options, rows: list[dict[str, Any]], evaluation: list[dict[str, Any]] | None) -> Any:
    """TRL's trainer with our guard and progress lines."""
    from datasets import Dataset
    from safetensors import SafetensorError
    from transformers import PrinterCallback, ProgressCallback
    from trl import DPOTrainer, KTOTrainer, SFTTrainer, get_peft_config, get_quantization_config

    arguments = parse(options)
    training = arguments.training
    if options.kind == "kto":
        # KTO takes the rows in their order, and compares each with its neighbours: they must not share a label or a
        # question, as they do in the files.
        rows = random.Random(training.seed).sample(rows, len(rows))
    model = load_model(arguments)
    from_hub = isinstance(model, str)
    try:
        trainer = {"sft": SFTTrainer, "dpo": DPOTrainer, "kto": KTOTrainer}[options.kind](
            model=model,
            args=training,
            train_dataset=Dataset.from_list(rows),
            eval_dataset=Dataset.from_list(evaluation) if evaluation else None,
            processing_class=load_tokenizer(options),
            quantization_config=get_quantization_config(arguments.model) if from_hub else None,
            peft_config=get_peft_config(arguments.model) if from_hub else None,
        )
    # The last two are of weights that belong to another model, or are damaged.
    except (OSError, ValueError, RuntimeError, SafetensorError) as error:
        raise InputError(f"{options.kind}: {' '.join(str(error).split())[:300]}") from None
    trained = len(trainer.train_dataset)
    if not getattr(training, "packing", False) and trained != len(rows):
        say(f"{options.kind}: TRL kept {trained} of {len(rows)} rows")
    for callback in (ProgressCallback, PrinterCallback):
        trainer.remove_callback(callback)
    for callback in _callbacks(options.kind):
        trainer.add_callback(callback)
    return trainer


def fit(trainer: Any, folder: RunFolder) -> None:
    """Train, from the newest checkpoint where there is one, and leave the results in the folder."""
    checkpoint = folder.checkpoint()
    folder.start()
    kind, processes = folder.options.kind, trainer.accelerator.num_processes
    asked = int(os.environ.get("WORLD_SIZE", "1"))
    if processes != asked:
        raise RunError(f"{asked} processes were launched and {processes} train: see configs/accelerate/cpu.yaml")
    say(f"{kind}: " + (f"continues from {checkpoint}" if checkpoint else f"starts in {folder.path}")
        + f", {processes} process{'es' if processes > 1 else ''} on {trainer.args.device.type}")  # fmt: skip
    with room_in(folder.path):
        metrics = trainer.train(resume_from_checkpoint=checkpoint).metrics
        trainer.save_model()
    # The trainer's own mean covers only the steps since the resume, and is all there is where no step was logged.
    if losses := [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]:
        metrics["train_loss"] = sum(losses) / len(losses)
    trainer.save_metrics("train", metrics)
    trainer.save_state()
    trainer.create_model_card()
    folder.finish(trainer.state.log_history)
    trainer.accelerator.wait_for_everyone()
    say(f"{kind}: mean loss {metrics['train_loss']:.4f}, {metrics['train_runtime']:.0f} s, saved in {folder.path}")


def release() -> None:
    """Give back the memory of a stage, and what accelerate keeps of its settings, for the next one in this process."""
    import torch
    from accelerate.state import AcceleratorState

    gc.collect()
    torch.cuda.empty_cache()
    AcceleratorState._reset_state()


def leave() -> None:
    """Leave the other processes, all at once: one that goes before the others hangs as gloo is torn down."""
    from accelerate import PartialState

    PartialState().wait_for_everyone()
    PartialState().destroy_process_group()


def _keep_freed_memory() -> None:
    """Have glibc reuse the large buffers of a training step: given back and mapped anew, the kernel clears every page.

    On a CPU that costs as much time as the arithmetic.
    """
    mmap_max, trim_threshold = -4, -1  # M_MMAP_MAX and M_TRIM_THRESHOLD of malloc.h
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(mmap_max, 0)
        libc.mallopt(trim_threshold, 2**31 - 1)


def quieten() -> None:
    """No bars where there is no terminal, and no warnings that are not the user's to mend."""
    # Older versions that work here too do not know the option's new name.
    warnings.filterwarnings("ignore", message=".*gradient_checkpointing", category=FutureWarning)
    if sys.stderr.isatty():
        return
    os.environ["TQDM_DISABLE"] = "1"  # read when tqdm is imported
    import datasets
    from transformers.utils import logging

    datasets.disable_progress_bars()
    logging.disable_progress_bar()


class Guard:
    """Decides from the logged numbers whether training is still learning."""

    def __init__(self) -> None:
        self._recent: deque[tuple[float, float]] = deque(maxlen=_STUCK_AFTER)

    def check(self, step: int, logs: dict[str, float]) -> None:
        """Raise `RunError` for a NaN or infinite number, a zero gradient or a loss that never moves."""
        if "loss" not in logs:
            return
        loss, gradient = float(logs["loss"]), float(logs.get("grad_norm", math.inf))
        if not math.isfinite(loss) or math.isnan(gradient):
            raise RunError(
                f"step {step}: loss {loss}, gradient norm {gradient}. The likely causes: a learning rate that is too "
                "high (try a tenth), fp16 where bf16 is needed, or rows without a single trained token"
            )
        self._recent.append((loss, gradient))
        if len(self._recent) < _STUCK_AFTER:
            return
        if all(recent_gradient == 0.0 for _, recent_gradient in self._recent):
            raise RunError(
                f"step {step}: the gradient is zero for {_STUCK_AFTER} logged steps. The likely causes: max_length "
                "cuts the answers away (chosen and rejected become equal), or no adapter weight is trainable"
            )
        if loss > 1e-2 and all(recent_loss == loss for recent_loss, _ in self._recent):
            raise RunError(
                f"step {step}: the loss is {loss} for {_STUCK_AFTER} logged steps. The likely causes: a learning rate "
                "of zero (warm-up longer than the run), or weights that are frozen"
            )


def _callbacks(kind: str) -> list[Any]:
    from transformers import TrainerCallback

    class GuardCallback(TrainerCallback):
        def __init__(self) -> None:
            self.guard = Guard()

        def on_log(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self.guard.check(state.global_step, kwargs["logs"])

    class ProgressLines(TrainerCallback):
        def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self.began, self.first = time.monotonic(), state.global_step

        def on_log(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            logs = kwargs["logs"]
            if "loss" not in logs and "eval_loss" not in logs:
                return
            pace = (time.monotonic() - self.began) / max(1, state.global_step - self.first)
            shown = ("loss", "eval_loss", "rewards/margins", "rewards/accuracies", "learning_rate")
            numbers = ", ".join(f"{name} {logs[name]:.4g}" for name in shown if name in logs)
            step, steps = state.global_step, state.max_steps
            say(f"{kind}: step {step}/{steps}, {numbers}, {pace:.1f} s a step, {pace * (steps - step):.0f} s left")

    return [GuardCallback(), ProgressLines()]

"""Direct preference optimisation on pairs of a verified and a refuted answer.

    rltpf train dpo --config FILE --dataset_name dpo.jsonl --adapter_name_or_path SFT_OUTPUT_DIR
    accelerate launch --config_file configs/accelerate/multi_gpu.yaml -m rltpf.train.dpo --config FILE ...

Rows: {"prompt": [messages], "chosen": [messages], "rejected": [messages]}. With `adapter_name_or_path` the reference
policy is a frozen copy of that adapter on the same base model: no second model in memory, and the first loss is ln 2.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rltpf.train.data import evaluation_rows, training_rows
from rltpf.train.folder import RunFolder, say
from rltpf.train.options import read_options


def main(argv: Sequence[str]) -> int:
    """Train; 0 when done or already done. Raises `InputError` for what the user can mend, before a model is loaded."""
    options = read_options("dpo", argv)
    folder = RunFolder(options)
    if folder.finished:
        say(f"dpo: {folder.path} is finished already; --overwrite_output_dir true trains again")
        return 0
    rows, evaluation = training_rows(options), evaluation_rows(options)

    from rltpf.train import trainers

    trainer = trainers.build(options, trainers.parse(options), rows, evaluation)
    trainers.fit(trainer, folder)
    return 0


if __name__ == "__main__":
    from rltpf.train.launch import run

    sys.exit(run(main, sys.argv[1:]))

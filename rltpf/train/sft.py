"""Supervised fine-tuning on verified answers.

    rltpf train sft --config FILE --dataset_name sft.jsonl
    accelerate launch --config_file configs/accelerate/multi_gpu.yaml -m rltpf.train.sft --config FILE ...

Rows: {"prompt": [messages], "completion": [messages]}; the loss is on the completion alone. LoRA with `use_peft: true`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rltpf.train import launch


def main(argv: Sequence[str]) -> int:
    """Train; see `launch.train`."""
    return launch.train("sft", argv)


if __name__ == "__main__":
    sys.exit(launch.run(main, sys.argv[1:]))

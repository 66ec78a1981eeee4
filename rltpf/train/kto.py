"""Kahneman-Tversky optimisation on answers with a label: true where Lean verified them, false where it refuted them.

    rltpf train kto --config FILE --dataset_name unpaired.jsonl --adapter_name_or_path SFT_OUTPUT_DIR
    accelerate launch --config_file configs/accelerate/multi_gpu.yaml -m rltpf.train.kto --config FILE ...

Rows: {"prompt": [messages], "completion": [messages], "label": true or false}. The reference is as in DPO.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rltpf.train import launch


def main(argv: Sequence[str]) -> int:
    """Train; see `launch.train`."""
    return launch.train("kto", argv)


if __name__ == "__main__":
    sys.exit(launch.run(main, sys.argv[1:]))

"""Direct preference optimisation on pairs of a verified and a refuted answer.

    rltpf train dpo --config FILE --dataset_name dpo.jsonl --adapter_name_or_path SFT_OUTPUT_DIR
    accelerate launch --config_file configs/accelerate/multi_gpu.yaml -m rltpf.train.dpo --config FILE ...

Rows: {"prompt": [messages], "chosen": [messages], "rejected": [messages]}. With `adapter_name_or_path` the reference
policy is a frozen copy of that adapter on the same base model: no second model in memory, and the first loss is ln 2.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rltpf.train import launch


def main(argv: Sequence[str]) -> int:
    """Train; see `launch.train`."""
    return launch.train("dpo", argv)


if __name__ == "__main__":
    sys.exit(launch.run(main, sys.argv[1:]))

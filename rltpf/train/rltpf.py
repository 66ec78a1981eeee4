"""SFT on verified answers, then DPO from its result on pairs of a verified and a refuted answer, as one job.

    rltpf train rltpf --config configs/train/smollm2_rltpf.yaml --dataset_name GENERATE_OUTPUT_DIR --output_dir DIR
    accelerate launch --config_file configs/accelerate/multi_gpu.yaml -m rltpf.train.rltpf --config FILE ...

`output_dir` gets a folder for each stage. Started again, the job skips what is finished and continues what is not.
`--variant sft_verified` stops after SFT; `--variant sft_all` is SFT on all judged answers, whatever the verdict.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rltpf.train import launch
from rltpf.train.job import read_job


def main(argv: Sequence[str]) -> int:
    """Train; see `launch.train_stages`."""
    return launch.train_stages(read_job(argv))


if __name__ == "__main__":
    sys.exit(launch.run(main, sys.argv[1:]))

"""On a real SLURM: arrays that lose tasks, the time limit, a server of the job's own, and the whole chain."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from rltpf import smollm2
from tests.data_gen.run_files import equal_data_sets
from tests.slurm.conftest import ROOT, Cluster

# Without the cache of verdicts, so that Lean judges in each job.
DEMO = ("--config", "configs/generate/demo.yaml", "--prover.workers", "1", "--prover.cache", "false")
GENERATE = ("slurm/generate.sbatch", *DEMO)


def _is_under_way(folder: Path) -> bool:
    """Whether a run has kept or lost a question, so that Lean is at work, and has its answers to judge."""
    journal = folder / "questions.jsonl"
    return journal.is_file() and journal.stat().st_size > 0


def _finished(folder: Path) -> bool:
    return "finished" in json.loads((folder / "manifest.json").read_text())["starts"][-1]


@pytest.mark.minutes
def test_an_array_that_loses_tasks_gives_the_data_of_one_run(cluster: Cluster) -> None:
    # Three questions for the first shard, none, two and one for the others.
    rows = ("--dataset.limit", "6")
    data, single = cluster.folder / "array", cluster.folder / "single"
    shards = [data / "shards" / f"{number}-of-4" for number in range(4)]
    job = cluster.submit("--array=0-3", *GENERATE, *rows, "--output_dir", data)
    cluster.until(lambda: _is_under_way(shards[0]) and _is_under_way(shards[2]))
    cluster.call("scontrol", "requeue", f"{job}_0")
    cluster.kill(f"{job}_2")
    cluster.wait(job)
    assert cluster.state(f"{job}_0")["Restarts"] == "1"
    assert cluster.state(f"{job}_2")["JobState"] == "FAILED"
    assert [_finished(shard) for shard in shards] == [True, True, False, True]
    assert len(json.loads((shards[0] / "manifest.json").read_text())["starts"]) == 2
    # The killed task alone, by its number; then the joining as a job that waits for it.
    again = cluster.submit(*GENERATE, *rows, "--output_dir", data, "--num_shards", "4", "--shard_id", "2")
    merging = cluster.submit(f"--dependency=afterok:{again}", "slurm/merge.sbatch", data)
    cluster.wait()
    assert cluster.state(merging)["JobState"] == "COMPLETED", cluster.logs()
    cluster.call("rltpf", "generate", *DEMO, *rows, "--output_dir", single)
    assert (single / "sft.jsonl").stat().st_size
    assert equal_data_sets(data, single)


def test_a_signal_before_the_time_limit_ends_cleanly_and_the_job_goes_on(cluster: Cluster) -> None:
    data = cluster.folder / "data"
    job = cluster.submit(*GENERATE, "--dataset.limit", "1", "--output_dir", data)
    cluster.until(lambda: _is_under_way(data))
    cluster.call("scancel", "--signal=USR1", "--batch", job)
    cluster.wait(job)
    assert cluster.state(job)["JobState"] == "COMPLETED", cluster.logs()
    assert cluster.state(job)["Restarts"] == "1"
    log = (cluster.folder / "logs" / f"generate-{job}.out").read_text()
    assert "exit code 130" in log
    assert "start 1 of job" in log
    assert log.rstrip().endswith("exit code 0")


def test_rewriting_is_a_job_too(cluster: Cluster) -> None:
    small = ("--config", "configs/rewrite/demo.yaml", "--dataset.limit", "1", "--prover.workers", "1")
    job = cluster.submit("slurm/rewrite.sbatch", *small, "--output_dir", "rewritten")
    cluster.wait(job)
    assert cluster.state(job)["JobState"] == "COMPLETED", cluster.logs()
    assert _finished(cluster.folder / "rewritten")


@pytest.mark.minutes
def test_two_nodes_train_together(cluster: Cluster, tiny_model: Path) -> None:
    """The second node is this machine under another name, so the network between nodes is not tried."""
    nodes = cluster.call("sinfo", "-h", "-N", "-t", "idle", "-o", "%N").split()
    if len(nodes) < 2:
        pytest.skip("no namespace for the name of a second node")
    turns = [{"role": "user", "content": "1 + 2?"}, {"role": "assistant", "content": "3"}]
    row = json.dumps({"prompt": turns[:1], "completion": turns[1:]})
    (cluster.folder / "rows.jsonl").write_text(f"{row}\n" * 4)
    options = {"model_name_or_path": tiny_model, "dataset_name": "rows.jsonl", "max_steps": 2, "bf16": "false"}
    words = [f"--{name}={value}" for name, value in {**options, "output_dir": "out", "use_cpu": "true"}.items()]
    profile = {"RLTPF_ACCELERATE": "configs/accelerate/cpu.yaml", "OMP_NUM_THREADS": "1"}
    job = cluster.submit("--nodes=2", "slurm/train.sbatch", "sft", *words, **profile)
    cluster.wait(job)
    assert cluster.state(job)["JobState"] == "COMPLETED", cluster.logs()
    log = (cluster.folder / "logs" / f"train-{job}.out").read_text()
    assert f"of job {job} on {','.join(nodes)}" in log
    assert "2 processes on cpu" in log
    assert log.count("saved in out") == 1
    assert json.loads((cluster.folder / "out" / "run.json").read_text())["finished"]


def test_a_server_of_the_jobs_own_is_waited_for_and_ended(cluster: Cluster) -> None:
    data = cluster.folder / "data"
    live = ("--llm.backend", "openai", "--llm.model", "stand-in", "--dataset.limit", "1", "--output_dir", data)
    server = f"{sys.executable} {ROOT / 'tests/slurm/stand_in_server.py'}"
    job = cluster.submit(*GENERATE, *live, RLTPF_SERVE="stand-in", RLTPF_SERVER=server)
    cluster.wait(job)
    log = (cluster.folder / "logs" / f"generate-{job}.out").read_text()
    assert "the server is healthy" in log
    assert "exit code 0" in log, log
    served = (cluster.folder / "logs" / f"server-{job}.log").read_text()
    assert "POST /v1/chat/completions" in served
    assert served.rstrip().endswith("ended")


def test_a_server_that_ends_at_once_ends_the_job_with_a_word(cluster: Cluster) -> None:
    job = cluster.submit(*GENERATE, "--output_dir", "data", RLTPF_SERVE="stand-in", RLTPF_SERVER="false")
    cluster.wait(job)
    assert cluster.state(job)["JobState"] == "FAILED"
    assert "the server ended before it was ready" in (cluster.folder / "logs" / f"generate-{job}.out").read_text()


@pytest.mark.minutes
def test_the_chain_runs_to_its_report_and_is_not_run_twice(cluster: Cluster) -> None:
    model = smollm2.folder()
    if not model.is_dir():
        pytest.skip("the small model is missing: python -m rltpf.smollm2")
    short = ("max_steps=1", "per_device_train_batch_size=1", "gradient_accumulation_steps=1")
    train = [f"--model_name_or_path={model}", *(f"--{option}" for option in short)]
    words = (
        *("submit", "configs/pipelines/demo.yaml", "--generate.shards", "2"),
        *("--generate.arguments", json.dumps(["--prover.workers=1", "--dataset.limit=6"])),
        *("--train.arguments", json.dumps(train)),
        *("--evaluate.models", json.dumps({"base": str(model), "dpo": "runs/slurm/dpo"})),
        *("--evaluate.arguments", json.dumps(["--dataset.limit=2", "--llm.max_tokens=8"])),
    )
    cluster.call("rltpf", *words)
    cluster.wait(seconds=500)
    run = cluster.folder / "runs" / "slurm"
    assert (run / "report.md").is_file(), cluster.logs()
    again = cluster.call("rltpf", *words).splitlines()
    stages = ("generate", "merge", "train", "evaluate", "report")
    assert again == [f"{stage}: is finished, not submitted" for stage in stages]
    (run / "eval" / "dpo" / "manifest.json").unlink()
    dry = cluster.call("rltpf", *words, "--dry_run")
    assert "train: is finished, not submitted\nevaluate: job $EVALUATE_JOB: sbatch --parsable" in dry
    assert "base=" not in dry.split("== ")[0]

"""Options are refused before torch is imported, all faults at once."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rltpf.errors import InputError
from rltpf.train.job import read_job
from rltpf.train.options import known_options, read_options

NEEDED = ["--model_name_or_path", "m", "--dataset_name", "d.jsonl", "--output_dir", "o"]


def faults(kind: str, *argv: str) -> list[str]:
    with pytest.raises(InputError) as error:
        read_options(kind, argv)
    return list(error.value.faults)


@pytest.mark.slow
def test_known_options_are_those_of_the_installed_trl() -> None:
    """What we read from the source is what TrlParser would accept."""
    import trl

    types = (trl.ScriptArguments, trl.DPOConfig, trl.ModelConfig, trl.DatasetMixtureConfig)
    fields = {f.name for cls in types for f in cls.__dataclass_fields__.values() if f.init and f.name[0] != "_"}
    ours = {"adapter_name_or_path", "eval_dataset_name", "max_truncated", "overwrite_output_dir"}
    assert set(known_options("dpo")) - ours == fields


@pytest.mark.slow
def test_known_losses_are_those_of_the_installed_trl() -> None:
    """TRL names them in the choices or in the help of the option."""
    import trl

    from rltpf.train.trainers import DPO_LOSSES, KTO_LOSSES, SFT_LOSSES

    for config, losses in ((trl.SFTConfig, SFT_LOSSES), (trl.DPOConfig, DPO_LOSSES), (trl.KTOConfig, KTO_LOSSES)):
        metadata = config.__dataclass_fields__["loss_type"].metadata
        assert [loss for loss in losses if loss not in f"{metadata.get('choices')} {metadata['help']}"] == []


def test_all_faults_are_told_at_once_with_a_suggestion(tmp_path: Path) -> None:
    config = tmp_path / "c.yaml"
    config.write_text("learning_rat: 1e-4\nmax_length: long\nbf16: false\n")
    assert faults("sft", "--config", str(config), "--beta", "0.1", "--seed", "x") == [
        f"{config}: key `learning_rat` is unknown: did you mean `learning_rate`?",
        f"{config}: key `max_length`: 'long' does not fit: "
        "input should be a valid integer, unable to parse string as an integer",
        "argument `beta` is unknown: TRL's SFTConfig has no such option",
        "argument `seed`: 'x' does not fit: input should be a valid integer, unable to parse string as an integer",
    ]


def test_command_line_wins_over_yaml_and_values_get_their_types(tmp_path: Path) -> None:
    config = tmp_path / "c.yaml"
    config.write_text("learning_rate: 1e-4\nseed: 1\nlora_target_modules: [a, b]\nbf16: true\n")
    options = read_options(
        "dpo", ["--config", str(config), *NEEDED, "--seed=7", "--loss-type", "ipo", "--no_bf16", "--beta", "0.2"]
    )
    assert {key: options.get(key) for key in ("learning_rate", "seed", "lora_target_modules", "loss_type")} == {
        "learning_rate": 0.0001,  # YAML reads 1e-4 as text
        "seed": 7,
        "lora_target_modules": ["a", "b"],
        "loss_type": ["ipo"],
    }
    assert (options.get("bf16"), options.get("beta")) == (False, 0.2)


def test_trl_gets_the_arguments_in_one_form() -> None:
    options = read_options("sft", [*NEEDED, "--lora-target-modules=q", "v", "--packing"])
    assert options.get("lora_target_modules") == ["q", "v"]
    assert options.argv == [*NEEDED, "--lora_target_modules", "q", "v", "--packing"]


@pytest.mark.parametrize(
    ("argv", "fault"),
    [
        (NEEDED[:4], "`output_dir` is missing: pass --output_dir"),
        (NEEDED[:2] + NEEDED[4:],
         "`dataset_name` is missing: pass --dataset_name with a .jsonl file, a folder or a hub id"),
        (
            [*NEEDED, "--use_peft", "--adapter_name_or_path", "a"],
            "`adapter_name_or_path` goes on training that adapter and `use_peft` makes a new one: "
            "give one of the two (--use_peft false)",
        ),
        ([*NEEDED, "--learning_rate", "0"], "`learning_rate` is 0.0: nothing would be learned"),
        ([*NEEDED, "--num_train_epochs", "-1"], "`num_train_epochs` is -1.0: nothing would be learned"),
        ([*NEEDED, "--learning_rate", "nan"], "argument `learning_rate`: nan does not fit: it is no number"),
        ([*NEEDED, "--learning_rate"], "argument `learning_rate`: True does not fit: input should be a valid number"),
        ([*NEEDED, "--streaming"], "streaming is not supported: the rows are checked before the training starts"),
        (
            [*NEEDED, "--save_only_model"],
            "`save_only_model` leaves out of a checkpoint what a stopped training needs to go on: drop it, the trained "
            "model is saved in the end without optimizer",
        ),
        (["stray", *NEEDED], "argument `stray` belongs to no option: write --key value"),
        (["--config", "none.yaml"], "none.yaml: No such file or directory: a config is a YAML file"),
    ],
)  # fmt: skip
def test_one_fault(argv: list[str], fault: str) -> None:
    assert faults("sft", *argv) == [fault]


@pytest.mark.parametrize("text", ["", "- a\n- b\n", "a: [1\n", "a: " + "[" * 5000])
def test_yaml_that_is_no_mapping_is_one_line(tmp_path: Path, text: str) -> None:
    config = tmp_path / "c.yaml"
    config.write_text(text)
    (fault,) = faults("sft", "--config", str(config))
    assert fault.startswith(f"{config}:")
    assert "\n" not in fault


def test_a_typing_mistake_imports_neither_torch_nor_trl() -> None:
    code = (
        "import sys; from rltpf.train import launch, sft\n"
        "code = launch.run(sft.main, ['--learning_rat', '1'])\n"
        "print(code, [m for m in ('torch', 'transformers', 'trl', 'datasets') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "2 []\n"
    assert done.stderr == "argument `learning_rat` is unknown: did you mean `learning_rate`?\n"


@pytest.mark.parametrize(
    "recipe", sorted((Path(__file__).parents[3] / "configs/train").glob("*.yaml")), ids=lambda path: path.stem
)
def test_shipped_recipes_are_accepted(recipe: Path) -> None:
    kind = recipe.stem.rpartition("_")[2]
    if kind == "rltpf":
        data = ["--sft.dataset_name", "s.jsonl", "--dpo.dataset_name", "d.jsonl"]
        stages = read_job(["--config", str(recipe), *NEEDED[:2], *NEEDED[4:], *data])
        assert [(stage.kind, stage.get("seed")) for stage in stages] == [("sft", 42), ("dpo", 42)]
        return
    assert read_options(kind, ["--config", str(recipe), *NEEDED]).get("seed") == 42
    assert recipe.read_text().startswith("#")

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, model_validator

from rltpf.config import SAME_RESULTS, Config, Findings, Option, describe, dump, examine, load, result_settings
from rltpf.errors import InputError


class Inner(Config):
    backend: Literal["openai", "replay"] = "openai"
    """Who answers."""
    name: str
    temperature: float = Field(0.5, ge=0)
    retries: int = Field(3, ge=0, json_schema_extra=SAME_RESULTS)


class Outer(Config):
    output_dir: Path
    """Where everything goes."""
    llm: Inner
    judge: Inner | None = None
    limit: int | None = None
    verbose: bool = False
    tags: tuple[str, ...] = ()
    judges: tuple[Inner, ...] = ()

    @model_validator(mode="after")
    def _limit_is_even(self) -> Outer:
        if self.limit is not None and self.limit % 2:
            raise ValueError("limit has to be even")
        return self


GOOD = "output_dir: runs/a\nllm:\n  name: m\n"


TOO_DEEP = "it nests more than 50 deep, or an alias stands inside its own anchor"
LAUGHS = "a0: &a0 [1]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30))


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "c.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def faults(folder: Path, text: str | bytes, *overrides: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        load(Outer, write(folder, text), overrides)
    return [line.replace(f"{folder}/", "") for line in caught.value.faults]


def test_the_command_line_wins_over_yaml_and_yaml_over_defaults(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD + "  temperature: 1\n  retries: 9\nlimit: 8\n")
    config = load(Outer, path, ["--llm.retries", "5", "--limit=2"])
    assert (config.llm.temperature, config.llm.retries, config.limit, config.llm.backend) == (1.0, 5, 2, "openai")
    assert config.output_dir == Path("runs/a")


def test_without_a_file_the_command_line_is_enough() -> None:
    config = load(Outer, None, ["--output_dir", "x", "--llm.name", "m", "--verbose", "--tags", "[a, b]"])
    assert config == Outer(output_dir=Path("x"), llm=Inner(name="m"), verbose=True, tags=("a", "b"))


@pytest.mark.parametrize(
    ("words", "key", "value"),
    [
        (["--llm.temperature", "1e-1"], "llm.temperature", 0.1),
        (["--llm.temperature=0"], "llm.temperature", 0.0),
        (["--llm.name", "7"], "llm.name", "7"),
        (["--llm.name", "no"], "llm.name", "no"),
        (["--llm.name", "'7'"], "llm.name", "7"),
        (["--llm.name", "a: b"], "llm.name", "a: b"),
        (["--llm.name", "@x"], "llm.name", "@x"),
        (["--llm.name", "a=b"], "llm.name", "a=b"),
        (["--llm.name=a=b"], "llm.name", "a=b"),
        (["--output_dir", "2024"], "output_dir", "2024"),
        (["--output-dir", "x-y"], "output_dir", "x-y"),
        (["--limit", "null"], "limit", None),
        (["--limit", "-2"], "limit", -2),
        (["--verbose", "--limit", "4"], "verbose", True),
        (["--verbose", "false"], "verbose", False),
        (["--tags", "[a]"], "tags", ["a"]),
        (["--judge.name", "j"], "judge.name", "j"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_values_on_the_command_line(tmp_path: Path, words: list[str], key: str, value: object) -> None:
    found = result_settings(load(Outer, write(tmp_path, GOOD), words))
    assert found[key] == value
    assert type(found[key]) is type(value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "c.yaml: is empty: write `key: value` lines"),
        ("# only a comment\n", "c.yaml: is empty: write `key: value` lines"),
        ("- a\n- b\n", "c.yaml: is a list, and has to be a mapping: write `key: value` lines"),
        ("hello", "c.yaml: is 'hello', and has to be a mapping: write `key: value` lines"),
        (b"\xff\xfe\x00a", "c.yaml: is not UTF-8 text"),
        (b"a\x00b: 1", "c.yaml: is not YAML text: it holds control characters"),
        ("a: [1,\nb: 2\n", "c.yaml:3: not valid YAML: expected ',' or ']', but got '<stream end>'"),
        ("a: 1\n b: 2\n", "c.yaml:2: not valid YAML: mapping values are not allowed here"),
        (GOOD + "limit: 2\nlimit: 4\n", "c.yaml:5: not valid YAML: duplicate key 'limit'"),
        (GOOD + "  name: n\n", "c.yaml:4: not valid YAML: duplicate key 'name'"),
        ("{[1]: 2}", "c.yaml:1: not valid YAML: key [1] is no text"),
        ("2024-01-01: 2", "c.yaml:1: not valid YAML: key datetime.date(2024, 1, 1) is no text"),
        (GOOD + "limt: 2\n", "c.yaml: limt: unknown key (did you mean 'limit'?)"),
        (GOOD + "temperature: 1\n", "c.yaml: temperature: unknown key (did you mean 'llm.temperature'?)"),
        (GOOD + "  bakend: replay\n", "c.yaml: llm.bakend: unknown key (did you mean 'backend'?)"),
        (
            GOOD + "  zzz: 1\n",
            "c.yaml: llm.zzz: unknown key (known: backend, name, temperature, retries)",
        ),
        (GOOD + "judge: {<<: {name: j}}\n", "c.yaml:4: not valid YAML: `<<` is not supported: write the keys out"),
        (GOOD + "1: 2\n", "c.yaml:4: not valid YAML: key 1 is no text"),
        (GOOD + "limit: '2'\n", "c.yaml: limit: should be a valid integer, and is '2'"),
        (GOOD + "limit: 2.0\n", "c.yaml: limit: should be a valid integer, and is 2.0"),
        (GOOD + "limit: true\n", "c.yaml: limit: should be a valid integer, and is true"),
        (GOOD + "verbose: 1\n", "c.yaml: verbose: should be a valid boolean, and is 1"),
        (GOOD + "verbose: 'yes'\n", "c.yaml: verbose: should be a valid boolean, and is 'yes'"),
        (GOOD + "tags: a\n", "c.yaml: tags: should be a list, and is 'a'"),
        (GOOD + "tags: [a, 1]\n", "c.yaml: tags.1: should be a valid string, and is 1 (in quotes it is text)"),
        (GOOD + "judge: 3\n", "c.yaml: judge: should be a section of keys, and is 3"),
        (GOOD + "judge: {}\n", "c.yaml: judge.name: is missing: add it to the YAML or pass --judge.name"),
        ("output_dir: a\nllm:\n", "c.yaml: llm: should be a section of keys, and is empty"),
        (
            "output_dir: a\n",
            "c.yaml: llm: is missing: add this section to the YAML (keys: backend, name, temperature, retries)",
        ),
        ("llm: {name: m}\n", "c.yaml: output_dir: is missing: add it to the YAML or pass --output_dir"),
        (
            "output_dir: a\nllm: {name: 7}\n",
            "c.yaml: llm.name: should be a valid string, and is 7 (in quotes it is text)",
        ),
        (
            "output_dir: 3\nllm: {name: m}\n",
            "c.yaml: output_dir: should be a valid string, and is 3 (in quotes it is text)",
        ),
        (GOOD + "  temperature: -1\n", "c.yaml: llm.temperature: should be greater than or equal to 0, and is -1"),
        (GOOD + "  temperature: hot\n", "c.yaml: llm.temperature: should be a valid number, and is 'hot'"),
        (
            GOOD + "  backend: replai\n",
            "c.yaml: llm.backend: should be 'openai' or 'replay', and is 'replai' (did you mean 'replay'?)",
        ),
        (GOOD + "limit: 3\n", "c.yaml: limit has to be even"),
        ("output_dir: ''\nllm: {name: m}\n", "c.yaml: output_dir: has to be a path, and is empty"),
        (
            GOOD + "judges: [{name: j}, {name: k, zzz: 1}]\n",
            "c.yaml: judges.1.zzz: unknown key (known: backend, name, temperature, retries)",
        ),
        (GOOD + "judges: [{nam: j, name: j}]\n", "c.yaml: judges.0.nam: unknown key (did you mean 'name'?)"),
        (GOOD + "judges: [{}]\n", "c.yaml: judges.0.name: is missing: add it to the YAML"),
        ("a: " + "[" * 5000, f"c.yaml: is not usable YAML: {TOO_DEEP}"),
        ("a: " + "[" * 60 + "]" * 60, f"c.yaml: is not usable YAML: {TOO_DEEP}"),
        ("a: &a [*a]", f"c.yaml: is not usable YAML: {TOO_DEEP}"),
        ("a: &a {b: *a}", f"c.yaml: is not usable YAML: {TOO_DEEP}"),
        (LAUGHS, "c.yaml: is not usable YAML: it holds more than 10000 values, with those that aliases stand for"),
        (GOOD + "#" * 10**6, "c.yaml: is larger than a megabyte: a config is a YAML file"),
        (GOOD + "tags: 2024-13-45\n", "c.yaml:4: not valid YAML: '2024-13-45' is no usable timestamp"),
        (GOOD + "limit: !!int x\n", "c.yaml:4: not valid YAML: 'x' is no usable int"),
        (GOOD + "limit: !!bool x\n", "c.yaml:4: not valid YAML: 'x' is no usable bool"),
        (
            GOOD + "limit: 1" + "0" * 5000 + "\n",
            "c.yaml:4: not valid YAML: '10000000000000000000000000000000000000000000000000000000... is no usable int",
        ),
        (
            GOOD + '  backend: "a\\0"\n',
            "c.yaml: is not usable YAML: 'a\\x00' holds a zero byte or half a character",
        ),
        (
            GOOD + '  backend: "\\ud800"\n',
            "c.yaml: is not usable YAML: '\\ud800' holds a zero byte or half a character",
        ),
        (GOOD + "  temperature: .nan\n", "c.yaml: llm.temperature: should be a finite number, and is nan"),
        (GOOD + "  temperature: .inf\n", "c.yaml: llm.temperature: should be a finite number, and is inf"),
        (GOOD + f"limit: {2**63}\n", "c.yaml: is not usable YAML: 9223372036854775808 has more than 64 bits"),
        (GOOD + "limit: .nan\n", "c.yaml: limit: should be a valid integer, and is nan"),
        (
            "output_dir: a\nllm: {name: no}\n",
            "c.yaml: llm.name: should be a valid string, and is false (in quotes it is text)",
        ),
    ],
)
def test_a_bad_file_gives_one_clear_line(tmp_path: Path, text: str | bytes, expected: str) -> None:
    assert faults(tmp_path, text) == [expected]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--limt", "2"], "--limt: unknown key (did you mean 'limit'?)"),
        (["--name", "2"], "--name: unknown key (did you mean 'llm.name'?)"),
        (["--limit", "two"], "--limit: should be a valid integer, and is 'two'"),
        (["--limit"], "--limit: has no value: write --limit VALUE"),
        (["--limit", "--verbose"], "--limit: has no value: write --limit VALUE"),
        (["--lm.name", "x"], "--lm: unknown key (did you mean 'llm'?)"),
        (["--llm"], "--llm: is a section: write --llm.KEY VALUE"),
        (["--limt"], "--limt: unknown key (did you mean 'limit'?)"),
        (["--tags", "&a [*a]"], f"--tags: is not usable: {TOO_DEEP}"),
        (
            ["--tags", "[" * 5000],
            "--tags: '[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[... is not a YAML value",
        ),
        (["--llm.name", "a\udcff"], "--llm.name: is not usable: 'a\\udcff' holds a zero byte or half a character"),
        (["--limit", "[1"], "--limit: '[1' is not a YAML value"),
        (["--llm", "3"], "--llm: should be a section of keys, and is 3"),
        (["stray"], "argument 'stray': belongs to no option: write --key value"),
        (["--limit", "2", "4"], "argument '4': belongs to no option: write --key value"),
        (["--limit", "4", "--limit=6"], "--limit: is given twice"),
        (["--output_dir", "a", "--output-dir", "b"], "--output-dir: is given twice"),
        (["--output_dir", "''"], "--output_dir: has to be a path, and is empty"),
        (["-x"], "argument '-x': belongs to no option: write --key value"),
    ],
)
def test_a_bad_argument_gives_one_clear_line(tmp_path: Path, words: list[str], expected: str) -> None:
    assert faults(tmp_path, GOOD, *words) == [expected]


def test_all_faults_come_at_once(tmp_path: Path) -> None:
    found = faults(tmp_path, "output_dir: a\nllm: {temperature: x}\nlimt: 1\n", "--verbose", "3", "stray")
    assert found == [
        "argument 'stray': belongs to no option: write --key value",
        "c.yaml: llm.name: is missing: add it to the YAML or pass --llm.name",
        "c.yaml: llm.temperature: should be a valid number, and is 'x'",
        "--verbose: should be a valid boolean, and is 3",
        "c.yaml: limt: unknown key (did you mean 'limit'?)",
    ]


def test_a_missing_file_and_a_folder_are_clear_faults(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no\.yaml: No such file or directory: a config is a YAML file"):
        load(Outer, tmp_path / "no.yaml")
    with pytest.raises(InputError, match="Is a directory"):
        load(Outer, tmp_path)


def test_a_byte_order_mark_and_windows_line_ends_are_accepted(tmp_path: Path) -> None:
    path = write(tmp_path, b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())
    assert load(Outer, path).llm.name == "m"


def test_anchors_are_accepted(tmp_path: Path) -> None:
    config = load(Outer, write(tmp_path, "output_dir: a\nllm: &m {name: m, retries: 7}\njudge: *m\n"))
    assert config.judge == config.llm == Inner(name="m", retries=7)


def test_a_file_without_an_end_is_not_read_to_its_end() -> None:
    with pytest.raises(InputError, match="/dev/zero: is larger than a megabyte: a config is a YAML file"):
        load(Outer, "/dev/zero")


def test_a_file_alone_leaves_required_keys_to_the_command_line() -> None:
    assert examine(Outer, {"judge": {}}, "c.yaml") == Findings([], ["output_dir", "llm.name", "judge.name"], 0)
    assert examine(Outer, {"output_dir": "a", "llm": {"name": "m"}}, "c.yaml") == Findings([], [], 0)


def test_keys_close_to_known_ones_are_less_strange() -> None:
    found = examine(Outer, {"limt": 2, "zzz": 1, "limit": "x"}, "c.yaml")
    assert found.strangeness == 3
    assert found.faults == [
        "c.yaml: limit: should be a valid integer, and is 'x'",
        "c.yaml: limt: unknown key (did you mean 'limit'?)",
        "c.yaml: zzz: unknown key (known: output_dir, llm, judge, limit, verbose, tags, judges)",
    ]


# PyYAML reads its own unquoted NEL (U+0085) as a space.
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0\x85"))


@given(
    st.builds(
        Outer,
        output_dir=TEXT.map(Path),
        llm=st.builds(
            Inner,
            name=TEXT,
            temperature=st.floats(0, 1e300),
            retries=st.integers(0, 10**9),
            backend=st.sampled_from(["openai", "replay"]),
        ),
        limit=st.none() | st.integers(-100, 100).map(lambda n: 2 * n),
        verbose=st.booleans(),
        tags=st.lists(TEXT).map(tuple),
        judge=st.none(),
        judges=st.just(()),
    )
)
def test_what_is_dumped_loads_as_the_same(tmp_path_factory: pytest.TempPathFactory, config: Outer) -> None:
    path = write(tmp_path_factory.getbasetemp(), dump(config))
    assert load(Outer, path) == config
    assert yaml.safe_load(dump(config))["llm"]["name"] == config.llm.name


def test_result_settings_leave_out_what_does_not_change_results() -> None:
    config = Outer(output_dir=Path("a"), llm=Inner(name="m"), judge=Inner(name="j"))
    assert result_settings(config) == {
        "output_dir": "a",
        "llm.backend": "openai",
        "llm.name": "m",
        "llm.temperature": 0.5,
        "judge.backend": "openai",
        "judge.name": "j",
        "judge.temperature": 0.5,
        "limit": None,
        "verbose": False,
        "tags": [],
        "judges": [],
    }


def test_describe_lists_every_key_with_type_default_and_docstring() -> None:
    options = describe(Outer)
    assert options[:3] == [
        Option("output_dir", "path", None, "Where everything goes."),
        Option("llm.backend", "openai|replay", "openai", "Who answers."),
        Option("llm.name", "str", None, ""),
    ]
    assert [option.key for option in options[5:10]] == [
        "judge.backend",
        "judge.name",
        "judge.temperature",
        "judge.retries",
        "limit",
    ]
    assert options[9] == Option("limit", "int", "none", "")


def test_a_config_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Inner(name="m").name = "n"  # type: ignore[misc]

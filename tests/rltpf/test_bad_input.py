"""Kinds of bad input, a row each: every fault is one clear line on standard error, the exit code is 2, and nothing is
printed or traced back."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rltpf.cli import main

CONFIGS = sorted((Path(__file__).parents[2] / "configs").rglob("*.yaml"))

GENERATE = "output_dir: o\ndataset: {path: d.jsonl}\nllm: {model: m, backend: replay, transcript: t.jsonl}\n"
FILES: dict[str, str | bytes] = {
    "c.yaml": GENERATE,
    "e.yaml": GENERATE + "benchmark: jsonl\n",
    "j.yaml": "output_dir: o\nllm: {model: m, backend: replay, transcript: t.jsonl}\n",
    "t.yaml": "model_name_or_path: m\noutput_dir: o\ndataset_name: d.jsonl\n",
    "d.jsonl": '{"question": "q", "answer": "1"}\n',
    "t.jsonl": "",
    "r.yaml": "model_name_or_path: m\n",
    "p.yaml": "output_dir: o\ngenerate: {config: c.yaml}\ntrain: {config: r.yaml}\n"
    "evaluate: {config: e.yaml, models: {base: m}}\n",
    "folder/note.txt": "",
    "rows.jsonl": '{"id": "a", "question": "q", "answer": "1"}\n',
    "candidates.jsonl": '{"id": "a", "question": "q", "candidates": ["1", "2"]}\n',
    "formal.jsonl": '{"id": "a"}\n',
    "proofs.jsonl": '{"id": 1, "statement": "theorem t : True", "submission": "theorem t : True := trivial"}\n',
}

LLM_KEYS = (
    "backend, model, base_url, transcript, max_concurrent, requests_per_minute, tokens_per_minute, timeout, retries, "
    "temperature, top_p, max_tokens, prompt_price, completion_price"
)
TOO_DEEP = "it nests more than 50 deep, or an alias stands inside its own anchor"
TO_INSTALL = (
    "install native Lean with elan (https://github.com/leanprover/elan) and put `lake` on the PATH, or run "
    "`rltpf lean install --toolchain embedded`"
)


@dataclass(frozen=True)
class Bad:
    """Beside `FILES` the `files` are there; a line between slashes is a regular expression."""

    kind: str
    argv: str
    lines: str | list[str]
    files: dict[str, str | bytes] = field(default_factory=dict)


def yaml(kind: str, text: str | bytes, line: str) -> Bad:
    return Bad(kind, "generate --config c.yaml", line, {"c.yaml": text})


def override(kind: str, words: str, line: str) -> Bad:
    return Bad(kind, f"generate --config c.yaml {words}", line)


def dataset(kind: str, rows: str | bytes, line: str, words: str = "") -> Bad:
    return Bad(f"dataset: {kind}", f"evaluate --config e.yaml {words}", line, {"d.jsonl": rows})


def transcript(kind: str, text: str, line: str) -> Bad:
    return Bad(f"transcript: {kind}", "evaluate --config e.yaml", line, {"t.jsonl": text})


def train(kind: str, words: str, line: str, files: dict[str, str | bytes] | None = None) -> Bad:
    return Bad(f"train: {kind}", f"train sft --config t.yaml {words}", line, files or {})


# A config file, read by `generate`; `config validate` says the same of it.
YAML = [
    yaml("empty file", "", "c.yaml: is empty: write `key: value` lines"),
    yaml("only comments", "# output_dir: o\n", "c.yaml: is empty: write `key: value` lines"),
    yaml("binary file", bytes(range(256)), "c.yaml: is not UTF-8 text"),
    yaml("zero bytes", "output_dir: \0\n", "c.yaml: is not YAML text: it holds control characters"),
    yaml("UTF-16", GENERATE.encode("utf-16"), "c.yaml: is not UTF-8 text"),
    yaml("Latin-1", "output_dir: é\n".encode("latin-1"), "c.yaml: is not UTF-8 text"),
    yaml("huge line", "a: " + "x" * 10**6, "c.yaml: is larger than a megabyte: a config is a YAML file"),
    yaml(
        "list for the mapping",
        "- output_dir: o\n",
        "c.yaml: is a list, and has to be a mapping: write `key: value` lines",
    ),
    yaml("text for the mapping", "o\n", "c.yaml: is 'o', and has to be a mapping: write `key: value` lines"),
    yaml(
        "tab", "llm:\n\tmodel: m\n", r"/c\.yaml:2: not valid YAML: found character '\\t' that cannot start any token/"
    ),
    yaml("open bracket", "a: [1\n", "c.yaml:2: not valid YAML: expected ',' or ']', but got '<stream end>'"),
    yaml("two documents", "a: 1\n---\nb: 2\n", "c.yaml:2: not valid YAML: but found another document"),
    yaml(
        "tag of Python",
        "a: !!python/name:os.system\n",
        "c.yaml:1: not valid YAML: could not determine a constructor for the tag "
        "'tag:yaml.org,2002:python/name:os.system'",
    ),
    yaml("alias without an anchor", "a: *b\n", "c.yaml:1: not valid YAML: found undefined alias 'b'"),
    yaml("alias cycle", "a: &a [*a]\n", f"c.yaml: is not usable YAML: {TOO_DEEP}"),
    yaml(
        "aliases without end",
        "a: &a [1]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1 or str()}'] * 9)}]\n" for n in range(1, 30)),
        "c.yaml: is not usable YAML: it holds more than 10000 values, with those that aliases stand for",
    ),
    yaml(
        "merge key",
        "a: &a {b: 1}\nc: {<<: *a}\n",
        "c.yaml:2: not valid YAML: `<<` is not supported: write the keys out",
    ),
    yaml("deep nesting", "a: " + "[" * 60 + "]" * 60, f"c.yaml: is not usable YAML: {TOO_DEEP}"),
    yaml("deeper nesting", "a: " + "{a: " * 5000, f"c.yaml: is not usable YAML: {TOO_DEEP}"),
    yaml("duplicate key", GENERATE + "seed: 1\nseed: 2\n", "c.yaml:5: not valid YAML: duplicate key 'seed'"),
    yaml("duplicate section", GENERATE + "llm: {model: n}\n", "c.yaml:4: not valid YAML: duplicate key 'llm'"),
    yaml("number as a key", GENERATE + "1: 2\n", "c.yaml:4: not valid YAML: key 1 is no text"),
    yaml(
        "no such date", GENERATE + "seed: 2024-13-45\n", "c.yaml:4: not valid YAML: '2024-13-45' is no usable timestamp"
    ),
    yaml("unknown key", GENERATE + "repair: 3\n", "c.yaml: repair: unknown key (did you mean 'repairs'?)"),
    yaml(
        "key in the wrong section",
        GENERATE + "workers: 3\n",
        "c.yaml: workers: unknown key (did you mean 'prover.workers'?)",
    ),
    yaml(
        "unknown key of a section",
        GENERATE + "prover: {worker: 3}\n",
        "c.yaml: prover.worker: unknown key (did you mean 'workers'?)",
    ),
    yaml("unknown section", GENERATE + "llms: {model: m}\n", "c.yaml: llms: unknown key (did you mean 'llm'?)"),
    yaml(
        "unknown role",
        GENERATE.replace("{model", "{roles: {jugde: {model: n}}, model"),
        "c.yaml: llm.roles.jugde: unknown key (did you mean 'judge'?)",
    ),
    yaml(
        "unknown key of a role",
        GENERATE.replace("{model", "{roles: {judge: {modell: n}}, model"),
        "c.yaml: llm.roles.judge.modell: unknown key (did you mean 'model'?)",
    ),
    yaml(
        "scalar for a section",
        "output_dir: o\ndataset: d.jsonl\nllm: {model: m}\n",
        "c.yaml: dataset: should be a section of keys, and is 'd.jsonl'",
    ),
    yaml(
        "list for a section",
        "output_dir: o\ndataset: {path: d.jsonl}\nllm: [m]\n",
        "c.yaml: llm: should be a section of keys, and is a list",
    ),
    yaml(
        "nothing for a section",
        "output_dir: o\ndataset: {path: d.jsonl}\nllm:\n",
        "c.yaml: llm: should be a section of keys, and is empty",
    ),
    yaml(
        "null for required text",
        GENERATE.replace("model: m", "model: null"),
        "c.yaml: llm.model: should be a valid string, and is empty",
    ),
    yaml(
        "boolean for text",
        GENERATE.replace("model: m", "model: no"),
        "c.yaml: llm.model: should be a valid string, and is false (in quotes it is text)",
    ),
    yaml(
        "number for text",
        GENERATE.replace("output_dir: o", "output_dir: 7"),
        "c.yaml: output_dir: should be a valid string, and is 7 (in quotes it is text)",
    ),
    yaml(
        "list for text",
        GENERATE.replace("model: m", "model: [m]"),
        "c.yaml: llm.model: should be a valid string, and is a list",
    ),
    yaml("text for a number", GENERATE + "seed: '16'\n", "c.yaml: seed: should be a valid integer, and is '16'"),
    yaml("word for a number", GENERATE + "seed: many\n", "c.yaml: seed: should be a valid integer, and is 'many'"),
    yaml("boolean for a number", GENERATE + "seed: yes\n", "c.yaml: seed: should be a valid integer, and is true"),
    yaml(
        "text for a boolean",
        GENERATE + "prover: {cache: 'no'}\n",
        "c.yaml: prover.cache: should be a valid boolean, and is 'no'",
    ),
    yaml("fraction for an integer", GENERATE + "seed: 1.5\n", "c.yaml: seed: should be a valid integer, and is 1.5"),
    yaml("zero", GENERATE + "prover: {timeout: 0}\n", "c.yaml: prover.timeout: should be greater than 0, and is 0"),
    yaml(
        "negative",
        GENERATE + "prover: {workers: -1}\n",
        "c.yaml: prover.workers: should be greater than or equal to 1, and is -1",
    ),
    yaml(
        "one answer",
        GENERATE + "answers_per_question: 1\n",
        "c.yaml: answers_per_question: should be greater than or equal to 2, and is 1",
    ),
    yaml(
        "above a probability",
        GENERATE.replace("{model", "{top_p: 1.1, model"),
        "c.yaml: llm.top_p: should be less than or equal to 1, and is 1.1",
    ),
    yaml(
        "NaN", GENERATE + "prover: {timeout: .nan}\n", "c.yaml: prover.timeout: should be a finite number, and is nan"
    ),
    yaml(
        "infinity",
        GENERATE + "prover: {timeout: .inf}\n",
        "c.yaml: prover.timeout: should be a finite number, and is inf",
    ),
    yaml("huge integer", GENERATE + f"seed: {10**30}\n", f"c.yaml: is not usable YAML: {10**30} has more than 64 bits"),
    yaml(
        "integer of 5000 digits",
        GENERATE + f"seed: {'1' * 5000}\n",
        "c.yaml:4: not valid YAML: '11111111111111111111111111111111111111111111111111111111... is no usable int",
    ),
    yaml(
        "zero byte in a path",
        GENERATE.replace("output_dir: o", 'output_dir: "o\\0"'),
        "c.yaml: is not usable YAML: 'o\\x00' holds a zero byte or half a character",
    ),
    yaml(
        "half a character",
        GENERATE.replace("model: m", 'model: "\\udfff"'),
        "c.yaml: is not usable YAML: '\\udfff' holds a zero byte or half a character",
    ),
    yaml(
        "other choice",
        GENERATE.replace("replay", "reply"),
        r"/c\.yaml: llm\.backend: should be 'openai', 'replay', .*, and is 'reply' \(did you mean 'replay'\?\)/",
    ),
    yaml(
        "address that is not http",
        GENERATE.replace("{model", "{base_url: 'localhost:8000', model"),
        "c.yaml: llm.base_url: should match pattern '^https?://', and is 'localhost:8000'",
    ),
    yaml(
        "unknown preset",
        GENERATE.replace("d.jsonl", "d.jsonl, preset: gsm8"),
        r"/c\.yaml: dataset\.preset: should be 'gsm8k', .*, and is 'gsm8' \(did you mean 'gsm8k'\?\)/",
    ),
    yaml(
        "empty path",
        GENERATE.replace("output_dir: o", "output_dir: ''"),
        "c.yaml: output_dir: has to be a path, and is empty",
    ),
    yaml(
        "shard of nothing in a file",
        GENERATE + "shard_id: 1\n",
        "c.yaml: shard_id: is 1, and num_shards is missing: shards are numbered from 0 to num_shards - 1",
    ),
    yaml(
        "shard beyond the last in a file",
        GENERATE + "shard_id: 3\nnum_shards: 3\n",
        "c.yaml: shard_id: is 3, and num_shards is 3: shards are numbered from 0 to num_shards - 1",
    ),
    yaml(
        "replay of nothing",
        GENERATE.replace(", transcript: t.jsonl", ""),
        "c.yaml: llm.transcript: is missing: backend replay needs a recorded transcript",
    ),
    yaml(
        "replay of nothing by a role",
        "output_dir: o\ndataset: {path: d.jsonl}\nllm: {model: m, roles: {judge: {backend: replay, model: n}}}\n",
        "c.yaml: llm.roles.judge.transcript: is missing: backend replay needs a recorded transcript",
    ),
    yaml(
        "server without an address",
        GENERATE + "prover: {toolchain: kimina}\n",
        "c.yaml: prover.url: is missing: toolchain kimina needs the address of a Kimina Lean Server",
    ),
    yaml(
        "address without a server",
        GENERATE + "prover: {url: 'http://localhost:8000'}\n",
        "c.yaml: prover.url: is for toolchain kimina, and the toolchain is auto: set it to kimina, or drop url",
    ),
    yaml(
        "project of a server",
        GENERATE + "prover: {toolchain: kimina, url: 'http://localhost:8000', project: p}\n",
        "c.yaml: prover.project: needs the native toolchain: a server has its own libraries",
    ),
    yaml(
        "project of the embedded Lean",
        GENERATE + "prover: {toolchain: embedded, project: p}\n",
        "c.yaml: prover.project: needs the native toolchain: the embedded Lean has no lake and no Mathlib",
    ),
    yaml(
        "no shards", GENERATE + "num_shards: 0\n", "c.yaml: num_shards: should be greater than or equal to 1, and is 0"
    ),
]

ARGUMENTS = [
    Bad("no command", "", "rltpf: the following arguments are required: COMMAND (see rltpf --help)"),
    Bad(
        "unknown command",
        "ask",
        r"/rltpf: argument COMMAND: invalid choice: 'ask' \(choose from .*\) \(see rltpf --help\)/",
    ),
    Bad(
        "mistyped command",
        "generat",
        "rltpf: argument COMMAND: invalid choice: 'generat': did you mean 'generate'? (see rltpf --help)",
    ),
    Bad(
        "unknown kind of training",
        "train ppo",
        "rltpf train: argument sft|dpo|kto|rltpf|merge: invalid choice: 'ppo' (choose from 'sft', 'dpo', 'kto', "
        "'rltpf', 'merge') (see rltpf train --help)",
    ),
    Bad(
        "missing argument", "judge", "rltpf judge: the following arguments are required: INPUT (see rltpf judge --help)"
    ),
    Bad("arguments for a command without any", "env --verbose", "unknown arguments: --verbose (see --help)"),
    Bad("missing config", "generate --config no.yaml", "no.yaml: No such file or directory: a config is a YAML file"),
    Bad("folder as config", "generate --config folder", "folder: Is a directory: a config is a YAML file"),
    Bad(
        "device as config",
        "generate --config /dev/zero",
        "/dev/zero: is larger than a megabyte: a config is a YAML file",
    ),
    Bad(
        "no name of a config",
        "generate --config",
        "rltpf generate: argument --config: expected one argument (see rltpf generate --help)",
    ),
    Bad(
        "empty name of a config",
        "generate --config=",
        "rltpf generate: argument --config: has no value (see rltpf generate --help)",
    ),
    override(
        "two configs",
        "--config e.yaml",
        "rltpf generate: argument --config: is given twice (see rltpf generate --help)",
    ),
    override("config without its option", "e.yaml", "argument 'e.yaml': belongs to no option: write --key value"),
    *(
        Bad(
            f"nothing given to {command}",
            command,
            "config: nothing is given: pass --config FILE (see configs/), or --KEY VALUE for each key (see --help)",
        )
        for command in ("generate", "evaluate", "judge rows.jsonl")
    ),
    Bad(
        "too little given",
        "generate --seed 3",
        [
            "output_dir: is missing: pass --output_dir",
            "dataset: is missing: pass --dataset.KEY VALUE "
            "(keys: path, name, split, preset, question_column, answer_column, limit)",
            f"llm: is missing: pass --llm.KEY VALUE (keys: {LLM_KEYS}, roles)",
        ],
    ),
    Bad(
        "missing section",
        "generate --config j.yaml",
        "j.yaml: dataset: is missing: add this section to the YAML "
        "(keys: path, name, split, preset, question_column, answer_column, limit)",
    ),
    Bad(
        "missing model",
        "evaluate --output_dir o --dataset.path d.jsonl --llm.backend transformers",
        "llm.model: is missing: pass --llm.model",
    ),
    override("unknown option", "--repair 3", "--repair: unknown key (did you mean 'repairs'?)"),
    override(
        "unknown role on the command line",
        "--llm.roles.jugde.model n",
        "--llm.roles.jugde: unknown key (did you mean 'judge'?)",
    ),
    override("short option", "-s", "argument '-s': belongs to no option: write --key value"),
    override("override for a section", "--llm x", "--llm: should be a section of keys, and is 'x'"),
    override("override for a section without a value", "--llm", "--llm: is a section: write --llm.KEY VALUE"),
    override("override inside a scalar", "--seed.x 3", "--seed: should be a valid integer, and is a mapping"),
    override("override without a value", "--seed", "--seed: has no value: write --seed VALUE"),
    override(
        "override without a value before another", "--seed --repairs 3", "--seed: has no value: write --seed VALUE"
    ),
    override("empty override", "--llm.model=", "--llm.model: should be a valid string, and is empty"),
    override("override that is no YAML", "--seed '[1'", "--seed: '[1' is not a YAML value"),
    override(
        "override that is no text",
        "--llm.model \udcff",
        "--llm.model: is not usable: '\\udcff' holds a zero byte or half a character",
    ),
    override("option given twice", "--seed 1 --seed 2", "--seed: is given twice"),
    override("wrong type", "--seed two", "--seed: should be a valid integer, and is 'two'"),
    override(
        "shard without its number",
        "--num_shards 2",
        "c.yaml: shard_id: is missing: num_shards is 2, and there is no SLURM array: pass --shard_id, from 0",
    ),
    override(
        "shard beyond the last",
        "--num_shards 2 --shard_id 2",
        "--shard_id: is 2, and num_shards is 2: shards are numbered from 0 to num_shards - 1",
    ),
    override(
        "shard of nothing",
        "--shard_id 1",
        "--shard_id: is 1, and num_shards is missing: shards are numbered from 0 to num_shards - 1",
    ),
    override(
        "negative shard", "--num_shards 2 --shard_id -1", "--shard_id: should be greater than or equal to 0, and is -1"
    ),
    override(
        "output_dir is a file",
        "--output_dir d.jsonl",
        "d.jsonl: cannot be written: File exists: choose another output_dir",
    ),
    override(
        "output_dir in a file",
        "--output_dir d.jsonl/o",
        "d.jsonl/o: cannot be written: Not a directory: choose another output_dir",
    ),
    override(
        "output_dir of somebody else",
        "--output_dir folder",
        "folder: is neither empty nor a run directory (it holds note.txt): choose another output_dir",
    ),
    override("no Lean", "--prover.toolchain embedded", f"the embedded Lean is not installed; {TO_INSTALL}"),
    override(
        "no native Lean",
        "--prover.toolchain native",
        f"prover.toolchain: native, but there is no `lake` on the PATH; {TO_INSTALL}",
    ),
    Bad(
        "sampling in an evaluation",
        "evaluate --config e.yaml --llm.temperature 0.7",
        "--llm.temperature: is 0.7, and one sample a row is scored greedily: set it to 0, or set samples",
    ),
    Bad(
        "no key of a server",
        "evaluate --config e.yaml --llm.backend openai",
        "llm: OPENAI_API_KEY is not set: set it, or point llm.base_url (or OPENAI_BASE_URL) at your own server",
    ),
    Bad("merging no folder", "merge nowhere", "nowhere: there is no such folder"),
    Bad("merging a file", "merge rows.jsonl", "rows.jsonl: is a file, and no folder"),
    Bad("merging no shards", "merge folder", "folder: holds no shards: --num_shards and --shard_id make them"),
    Bad(
        "report of several",
        "report folder folder",
        "folder: nothing to report: it has no metrics.json or log_history.jsonl of a run",
    ),
    Bad("report of no folder", "report nowhere", "nowhere: there is no such folder"),
    Bad("report of several, one of them nowhere", "report folder nowhere", "nowhere: there is no such folder"),
    *(
        Bad(
            f"output of {command.split()[0]} in the place of its input",
            f"{command} --output folder/../{command.split()[-1]}",
            f"folder/../{command.split()[-1]}: is the input {command.split()[-1]}, and would be overwritten: "
            "give --output another file",
        )
        for command in (
            "lean check --toolchain embedded proofs.jsonl",
            "rpe --toolchain embedded rows.jsonl",
            "judge --config j.yaml rows.jsonl",
            "select --config j.yaml candidates.jsonl",
            "audit --toolchain embedded formal.jsonl",
        )
    ),
    Bad(
        "a sheet that is its own key",
        "quality sheet a=folder --output s.csv --key folder/../s.csv",
        "--key folder/../s.csv: has to be another file than --output",
    ),
    Bad(
        "report of nothing",
        "report folder",
        "folder: nothing to report: it has no data/, sft/, dpo/, eval/ or rewrite/ of a run",
    ),
]

DATA = [
    dataset("missing", "", "no.jsonl: No such file or directory", "--dataset.path no.jsonl"),
    Bad(
        "dataset: directory named like a file",
        "evaluate --config e.yaml --dataset.path x.jsonl",
        "x.jsonl: Is a directory",
        {"x.jsonl/a": ""},
    ),
    Bad(
        "dataset: damaged Parquet file",
        "evaluate --config e.yaml --dataset.path d.parquet",
        r"/d\.parquet: cannot be loaded: .*Parquet magic bytes not found.*/",
        {"d.parquet": b"PAR1" + bytes(300)},
    ),
    Bad(
        "dataset: directory",
        "evaluate --config e.yaml --dataset.path hollow",
        r"/hollow: cannot be loaded: .* doesn't contain any data files: .*/",
        {"hollow/.keep": ""},
    ),
    dataset("other kind of file", "", "t.yaml: is no .jsonl, .csv or .parquet file", "--dataset.path t.yaml"),
    dataset("empty", "", "d.jsonl: holds no rows"),
    dataset("blank lines", "\n \n", "d.jsonl: holds no rows"),
    dataset("not UTF-8", '{"question": "é"}'.encode("latin-1"), "d.jsonl:1: is not UTF-8 text"),
    dataset("zero bytes", "\0\0\n", "d.jsonl:1: holds a NUL byte, so this is no text file"),
    dataset("not JSON", "\nquestion\n", "d.jsonl:2: is not JSON: Expecting value: line 1 column 1 (char 0)"),
    dataset("JSON list", "[1, 2]\n", "d.jsonl:1: is a JSON list, and has to be an object"),
    dataset(
        "wrong column",
        '{"q": "q", "answer": "1"}\n',
        "d.jsonl:1: has no column 'question': set dataset.question_column to one of q, answer",
    ),
    dataset(
        "column that is not there",
        FILES["d.jsonl"],
        "d.jsonl:1: has no column 'gold': set dataset.answer_column to one of question, answer",
        "--dataset.answer_column gold",
    ),
    dataset(
        "question is no text", '{"question": 3, "answer": "1"}\n', "d.jsonl:1: question has to be a text, and is 3"
    ),
    dataset("blank question", '{"question": " ", "answer": "1"}\n', "d.jsonl:1: question has to be a text, and is ' '"),
    dataset(
        "answer is null",
        '{"question": "q", "answer": null}\n',
        "d.jsonl:1: answer has to be a text or a number, and is None",
    ),
    dataset("half a character", '{"question": "\\ud83d", "answer": "1"}\n', "/d\\.jsonl:1: .*half a character.*/"),
    dataset(
        "no rows are asked for",
        FILES["d.jsonl"],
        "--dataset.limit: should be greater than or equal to 1, and is 0",
        "--dataset.limit 0",
    ),
    Bad(
        "CSV: short row",
        "evaluate --config e.yaml --dataset.path d.csv",
        "d.csv:2: has to have the header's 2 fields, and has 1",
        {"d.csv": "question,answer\nq\n"},
    ),
    Bad(
        "CSV: duplicate column",
        "evaluate --config e.yaml --dataset.path d.csv",
        "d.csv:1: the header has the column 'a' twice: rename one",
        {"d.csv": "a,a\nq,1\n"},
    ),
    Bad(
        "CSV: open quote",
        "evaluate --config e.yaml --dataset.path d.csv",
        "d.csv:2: is not CSV: unexpected end of data: check the quotes from here on",
        {"d.csv": 'question,answer\n"q,1\n'},
    ),
    Bad(
        "transcript: missing",
        "evaluate --config e.yaml --llm.transcript no.jsonl",
        "no.jsonl: No such file or directory: llm.transcript names the transcript to replay",
    ),
    Bad(
        "transcript: not named",
        "evaluate --config e.yaml --llm.transcript null",
        "--llm.transcript: is missing: backend replay needs a recorded transcript",
    ),
    transcript("empty", "", "t.jsonl: is a transcript of nothing, not of llm.model m"),
    transcript("not a transcript", '{"model": "m"}\n', "t.jsonl:1: is no recorded exchange: lacks 'completion'"),
    transcript(
        "of another model",
        json.dumps(
            {
                "model": "other",
                "request": {
                    "role": "solver",
                    "messages": [{"role": "user", "content": "q"}],
                    "sampling": {"temperature": 0, "top_p": 1, "max_tokens": 9, "seed": 1},
                    "schema": None,
                    "attempt": 0,
                },
                "completion": {"text": "a", "finish_reason": "stop", "prompt_tokens": 1, "completion_tokens": 1},
            }
        )
        + "\n",
        "t.jsonl: is a transcript of other, not of llm.model m",
    ),
    Bad("judge: missing rows", "judge no.jsonl --config j.yaml", "no.jsonl: No such file or directory"),
    Bad(
        "judge: duplicate ids",
        "judge rows.jsonl --config j.yaml",
        "rows.jsonl:2: a second row with the id 'a'",
        {"rows.jsonl": 2 * str(FILES["rows.jsonl"])},
    ),
    Bad(
        "judge: number as id",
        "judge rows.jsonl --config j.yaml",
        "rows.jsonl:1: id has to be a text, and is 1",
        {"rows.jsonl": '{"id": 1, "question": "q", "answer": "a"}\n'},
    ),
    Bad(
        "judge: output is a folder",
        "judge rows.jsonl --config j.yaml --output folder",
        "folder: cannot be written: --output takes a file in a folder that is there",
    ),
    Bad(
        "judge: two outputs",
        "judge rows.jsonl --config j.yaml --output a --output b",
        "rltpf judge: argument --output: is given twice (see rltpf judge --help)",
    ),
    Bad(
        "lean check: two numbers of workers",
        "lean check proofs.jsonl --workers 2 --workers 2",
        "rltpf lean check: argument --workers: is given twice (see rltpf lean check --help)",
    ),
    Bad("lean check: no rows", "lean check t.jsonl", "t.jsonl: holds no rows"),
    Bad(
        "lean check: not JSON",
        "lean check t.yaml",
        [f"t.yaml:{n}: is not JSON: Expecting value: line 1 column 1 (char 0)" for n in (1, 2, 3)],
    ),
    Bad(
        "lean check: empty row",
        "lean check proofs.jsonl",
        ["proofs.jsonl:1: has no `id`", "proofs.jsonl:1: has no `statement`", "proofs.jsonl:1: has no `submission`"],
        {"proofs.jsonl": "{}\n"},
    ),
    Bad(
        "lean check: wrong type",
        "lean check proofs.jsonl",
        "proofs.jsonl:1: `statement` must be a string, not 3",
        {"proofs.jsonl": '{"id": 1, "statement": 3, "submission": "x"}\n'},
    ),
    Bad(
        "lean check: no workers",
        "lean check proofs.jsonl --workers 0",
        "rltpf lean check: argument --workers: must be a positive number (see rltpf lean check --help)",
    ),
    Bad(
        "lean check: no native Lean",
        "lean check proofs.jsonl --toolchain native",
        f"prover.toolchain: native, but there is no `lake` on the PATH; {TO_INSTALL}",
    ),
    Bad("rpe: no file", "rpe no.jsonl", "no.jsonl: No such file or directory"),
    Bad("rpe: no rows", "rpe t.jsonl", "t.jsonl: holds no rows"),
    Bad(
        "rpe: not JSON",
        "rpe t.yaml",
        [f"t.yaml:{n}: is not JSON: Expecting value: line 1 column 1 (char 0)" for n in (1, 2, 3)],
    ),
    Bad("rpe: list for a row", "rpe d.jsonl", "d.jsonl:1: is a JSON list, and has to be an object", {"d.jsonl": "[]"}),
    Bad(
        "lean check: server without an address",
        "lean check proofs.jsonl --toolchain kimina",
        "url: is missing: toolchain kimina needs the address of a Kimina Lean Server",
    ),
    Bad(
        "lean check: address without a server",
        "lean check proofs.jsonl --toolchain embedded --url http://localhost:8000",
        "--url: is for toolchain kimina, and the toolchain is embedded: set it to kimina, or drop url",
    ),
    Bad(
        "lean install: native Lean",
        "lean install --toolchain native",
        "rltpf lean install: argument --toolchain: native Lean is not installed by rltpf: install elan "
        "(https://github.com/leanprover/elan), run `lake exe cache get && lake build` in lean/, and pass "
        "--toolchain native, or --prover.toolchain native, to the commands that judge (see rltpf lean install --help)",
    ),
    Bad("lean selftest: no cases", "lean selftest --cases t.jsonl", "t.jsonl: holds no cases"),
]

DEEP = '{"id": ' + "[" * 5000 + "]" * 5000 + "}"
SET = '{"original_question": "a", "rewritten_question": "b", "lean_proof": "c"}\n'
SENSITIVITY = "sensitivity s.jsonl --scores m=run,run --output o"
COMPARE = "quality compare a=run --config j.yaml"
AGREEMENT = "quality agreement s.csv --key k.jsonl --judged run"
KEY = '{"id": "1", "run": "a", "source": "s", "judgement": "j"}\n'
CUT = "is not JSON: Unterminated string starting at: line 1 column 8 (char 7)"

# What reads the files of other commands, or rows of its own.
FILES_OF_RUNS = [
    Bad("rewrite: no rows", "rewrite --config c.yaml", "d.jsonl: holds no rows", {"d.jsonl": b"\xef\xbb\xbf"}),
    Bad("rewrite: cut line", "rewrite --config c.yaml", f"d.jsonl:1: {CUT}", {"d.jsonl": '{"id": "a'}),
    Bad(
        "rewrite: UTF-16", "rewrite --config c.yaml", "d.jsonl:1: is not UTF-8 text", {"d.jsonl": "a".encode("utf-16")}
    ),
    Bad(
        "rewrite: key of generate",
        "rewrite --config c.yaml --answers_per_question 4",
        r"/--answers_per_question: unknown key \(known: output_dir, .*\)/",
    ),
    Bad("select: no file", "select no.jsonl --config j.yaml", "no.jsonl: No such file or directory"),
    Bad("select: binary", "select d.jsonl --config j.yaml", "d.jsonl:1: is not UTF-8 text", {"d.jsonl": b"\xff\xfe"}),
    Bad(
        "select: number for an id",
        "select d.jsonl --config j.yaml",
        "d.jsonl:1: id has to be a text, and is 7",
        {"d.jsonl": '{"id": 7, "question": "q", "candidates": ["1"]}'},
    ),
    Bad("sensitivity: no set", SENSITIVITY, "s.jsonl: No such file or directory"),
    Bad("sensitivity: empty set", SENSITIVITY, "s.jsonl: holds no rows", {"s.jsonl": "\n"}),
    Bad(
        "sensitivity: number for a text",
        SENSITIVITY,
        "s.jsonl:2: lean_proof has to be a text, and is 3",
        {"s.jsonl": SET + SET.replace('"c"', "3")},
    ),
    Bad("sensitivity: no evaluation", SENSITIVITY, "run/samples.jsonl: No such file or directory", {"s.jsonl": SET}),
    Bad(
        "sensitivity: cut sample",
        SENSITIVITY,
        f"run/samples.jsonl:1: {CUT}",
        {"s.jsonl": SET, "run/samples.jsonl": '{"id": "a'},
    ),
    Bad(
        "sensitivity: other rows for samples",
        SENSITIVITY,
        "run/samples.jsonl:1: id: field required",
        {"s.jsonl": SET, "run/samples.jsonl": '{"x": 1}'},
    ),
    Bad("quality: no run", COMPARE, "run/candidates.jsonl: No such file or directory"),
    Bad("quality: no candidates", COMPARE, "run/candidates.jsonl: holds no rows", {"run/candidates.jsonl": ""}),
    Bad(
        "quality: every fault of every run",
        "quality compare a=run b=other --config j.yaml",
        [
            "run/candidates.jsonl:1: is a JSON list, and has to be an object",
            f"run/candidates.jsonl:2: {CUT}",
            "other/candidates.jsonl: No such file or directory",
        ],
        {"run/candidates.jsonl": '[]\n{"id": "a'},
    ),
    Bad("quality: name without a run", "quality compare run --config j.yaml", "/run: has to be NAME=RUN.*/"),
    Bad(
        "quality: deep metrics",
        "quality rates a=run --output o",
        "run/metrics.json: is not what `rltpf rewrite` writes",
        {"run/metrics.json": DEEP},
    ),
    Bad(
        "quality: sheet of nothing",
        "quality sheet a=run --output s.csv --key k.jsonl",
        "run/candidates.jsonl: No such file or directory",
    ),
    Bad("quality: key of nothing", AGREEMENT, "k.jsonl: holds no rows", {"k.jsonl": "", "s.csv": "id\n"}),
    Bad(
        "quality: sheet that nobody filled",
        AGREEMENT,
        "s.csv: no row is filled in",
        {"k.jsonl": KEY, "s.csv": "id,well_defined\n1,\n"},
    ),
    Bad(
        "quality: cut judgement",
        AGREEMENT,
        f"run/judgements.jsonl:1: {CUT}",
        {
            "k.jsonl": KEY,
            "s.csv": "id,well_defined,feasible,correct\n1,yes,yes,yes\n",
            "run/judgements.jsonl": '{"id": "a',
        },
    ),
    Bad(
        "report: text for metrics",
        "report run",
        "run/data/metrics.json: cannot be read as JSON: Expecting value: line 1 column 1 (char 0)",
        {"run/data/metrics.json": "metrics"},
    ),
    Bad(
        "audit: no rows",
        "audit d.jsonl --toolchain embedded",
        "d.jsonl: no rows to audit",
        {"d.jsonl": b"\xef\xbb\xbf"},
    ),
    Bad(
        "output_dir with a deep manifest",
        "generate --config c.yaml --output_dir run",
        "run: is neither empty nor a run directory (it holds manifest.json): choose another output_dir",
        {"run/manifest.json": DEEP},
    ),
]

TRAINING = [
    Bad(
        "train: missing config",
        "train sft --config no.yaml",
        "no.yaml: No such file or directory: a config is a YAML file",
    ),
    Bad(
        "train: nothing given",
        "train dpo",
        [
            "`model_name_or_path` is missing: pass --model_name_or_path",
            "`output_dir` is missing: pass --output_dir",
            "`dataset_name` is missing: pass --dataset_name with a .jsonl file, a folder or a hub id",
        ],
    ),
    Bad(
        "train: two configs",
        "train sft --config t.yaml --config t.yaml",
        "rltpf train sft: argument --config: is given twice (see rltpf train sft --help)",
    ),
    train("duplicate key", "", "t.yaml:2: not valid YAML: duplicate key 'seed'", {"t.yaml": "seed: 1\nseed: 2\n"}),
    train("unknown option", "--learning_rat 1", "argument `learning_rat` is unknown: did you mean `learning_rate`?"),
    train("option of DPO", "--beta 0.1", "argument `beta` is unknown: TRL's SFTConfig has no such option"),
    train(
        "word for a number",
        "--learning_rate hot",
        "argument `learning_rate`: 'hot' does not fit: input should be a valid number, unable to parse string as a "
        "number",
    ),
    train(
        "option without a value",
        "--learning_rate",
        "argument `learning_rate`: True does not fit: input should be a valid number",
    ),
    train("option given twice", "--seed 1 --seed 2", "argument `seed` is given twice"),
    train("NaN", "--learning_rate nan", "argument `learning_rate`: nan does not fit: it is no number"),
    train("no epochs", "--num_train_epochs 0", "`num_train_epochs` is 0.0: nothing would be learned"),
    train("missing data set", "--dataset_name no.jsonl", "no.jsonl: No such file or directory"),
    train("empty data set", "", "d.jsonl: holds no rows; nothing can be trained", {"d.jsonl": ""}),
    train(
        "other rows", "", "d.jsonl:1: SFT needs the columns prompt, completion, and this row has no prompt, completion"
    ),
    train(
        "no first stage",
        "--adapter_name_or_path runs/demo/sft",
        "adapter_name_or_path runs/demo/sft: no such folder; train the stage before, or give its output_dir",
    ),
    Bad(
        "merge: no adapter",
        "train merge folder --output out",
        "folder: no adapter_config.json there: give the output_dir of a LoRA run",
    ),
    train("output_dir is a file", "--output_dir d.jsonl", "d.jsonl: Not a directory: pick another --output_dir"),
]

VALIDATION = [
    Bad(
        "validate: no file",
        "config validate",
        "rltpf config validate: the following arguments are required: FILE (see rltpf config validate --help)",
    ),
    Bad(
        "validate: missing file",
        "config validate no.yaml",
        "no.yaml: No such file or directory: a config is a YAML file",
    ),
    Bad(
        "validate: for what is not there",
        "config validate c.yaml --for train",
        "rltpf config validate: argument --for: invalid choice: 'train' (choose from 'generate', 'judge', 'rewrite', "
        "'quality', 'evaluate', 'select', 'pipeline', 'scribe', 'sft', 'dpo', 'kto', 'rltpf', 'accelerate') "
        "(see rltpf config validate --help)",
    ),
    Bad("validate: overrides", "config validate c.yaml --seed 3", "unknown arguments: --seed 3 (see --help)"),
    Bad(
        "validate: no known key",
        "config validate x.yaml",
        "x.yaml: has the keys of no config: say with --for which one it is meant to be",
        {"x.yaml": "zzz: 1\n"},
    ),
    Bad(
        "validate: many faults",
        "config validate x.yaml no.yaml",
        [
            "x.yaml (for `rltpf evaluate`): benchmark: should be 'gsm8k', 'multiarith', 'svamp', 'asdiv', 'aqua', "
            "'math', 'math500', 'aime24', 'amc23', 'olympiadbench', 'repro', 'repro_originals' or 'jsonl', and is "
            "'gsm' (did you mean 'gsm8k'?)",
            "x.yaml (for `rltpf evaluate`): dataset.limit: should be greater than or equal to 1, and is 0",
            "x.yaml (for `rltpf evaluate`): llm.modell: unknown key (did you mean 'model'?)",
            "no.yaml: No such file or directory: a config is a YAML file",
        ],
        {"x.yaml": "benchmark: gsm\ndataset: {limit: 0}\nllm: {modell: m}\n"},
    ),
    Bad(
        "validate: faults between keys, with others",
        "config validate generate.yaml",
        [
            f"generate.yaml (for `rltpf generate`): {fault}"
            for fault in (
                "llm.roles.judge.transcript: is missing: backend replay needs a recorded transcript",
                "llm.roles.solver.transcript: is missing: backend replay needs a recorded transcript",
                "llm.modell: unknown key (did you mean 'model'?)",
                "prover.url: is missing: toolchain kimina needs the address of a Kimina Lean Server",
                "prover.workers: should be greater than or equal to 1, and is 0",
                "shard_id: is 4, and num_shards is 2: shards are numbered from 0 to num_shards - 1",
            )
        ],
        {
            "generate.yaml": "num_shards: 2\nshard_id: 4\nprover: {toolchain: kimina, workers: 0}\n"
            "llm: {modell: m, roles: {judge: {backend: replay}, solver: {backend: replay, model: n}}}\n"
        },
    ),
    Bad(
        "validate: preset of another benchmark",
        "config validate e.yaml --for evaluate",
        "e.yaml (for `rltpf evaluate`): dataset.preset: svamp is not the benchmark gsm8k: set benchmark: jsonl",
        {"e.yaml": "dataset: {path: d.jsonl, preset: svamp}\n"},
    ),
    Bad(
        "validate: training",
        "config validate x.yaml",
        [
            "x.yaml (for `rltpf train dpo`): key `learning_rat` is unknown: did you mean `learning_rate`?",
            "x.yaml (for `rltpf train dpo`): key `beta`: 'x' does not fit: input should be a valid number, unable to "
            "parse string as a number",
            "x.yaml (for `rltpf train dpo`): key `env` must map names to values",
        ],
        {"x.yaml": "learning_rat: 1\nbeta: x\nenv: 3\n"},
    ),
    Bad(
        "validate: unknown keys, whose section is told once and of what it is by its sections",
        "config validate x.yaml",
        [
            f"x.yaml (for `rltpf generate`): {fault}"
            for fault in (
                "dataset: should be a section of keys, and is a list",
                "llm.roles.solvr: unknown key (did you mean 'solver'?)",
                f"llm.zzz: unknown key (known: {LLM_KEYS}, roles)",
                "llm.yyy: unknown key (known: listed above)",
                "zzz: unknown key (known: output_dir, dataset, license, decontaminate, llm, prover, "
                "answers_per_question, repairs, strategy, prompts, prompts_version, seed, num_shards, shard_id)",
                "yyy: unknown key (known: listed above)",
            )
        ],
        {"x.yaml": "dataset: []\nzzz: 1\nyyy: 2\nrepairs: 1\nllm: {zzz: 1, yyy: 2, roles: {solvr: {model: m}}}\n"},
    ),
    Bad(
        "validate: training that learns nothing",
        "config validate x.yaml --for sft",
        "x.yaml (for `rltpf train sft`): `lora_r` is 0: nothing would be learned",
        {"x.yaml": "lora_r: 0\n"},
    ),
    Bad(
        "validate: accelerate",
        "config validate x.yaml",
        [
            "x.yaml (for `accelerate launch`): key `mixed_precision`: False does not fit: input should be a valid "
            "string",
            "x.yaml (for `accelerate launch`): key `distributed_typ` is unknown: did you mean `distributed_type`?",
        ],
        {"x.yaml": "num_processes: 2\nmixed_precision: no\ndistributed_typ: NO\n"},
    ),
]

PIPELINE_KEYS = "known: output_dir, sbatch, generate, train, evaluate"


def pipeline(kind: str, words: str, line: str | list[str]) -> Bad:
    return Bad(f"submit: {kind}", f"submit p.yaml {words}", line)


SUBMITTING = [
    Bad(
        "submit: no pipeline",
        "submit",
        "rltpf submit: the following arguments are required: PIPELINE (see rltpf submit --help)",
    ),
    Bad("submit: missing file", "submit no.yaml", "no.yaml: No such file or directory: a config is a YAML file"),
    Bad(
        "submit: missing stages",
        "submit p.yaml",
        [
            "p.yaml: generate.config: is missing: add it to the YAML or pass --generate.config",
            "p.yaml: train: is missing: add this section to the YAML (keys: sbatch, arguments, config, variant)",
            "p.yaml: evaluate.models: is missing: add it to the YAML or pass --evaluate.models",
        ],
        {"p.yaml": "output_dir: o\ngenerate: {shards: 2}\nevaluate: {config: e.yaml}\n"},
    ),
    pipeline("unknown key", "--partition x", f"--partition: unknown key ({PIPELINE_KEYS})"),
    pipeline(
        "unknown key of a stage",
        "--train.shards 2",
        "--train.shards: unknown key (did you mean 'generate.shards'?)",
    ),
    pipeline(
        "dry run with a word",
        "--dry_run=yes",
        "rltpf submit: argument --dry_run: ignored explicit argument 'yes' (see rltpf submit --help)",
    ),
    pipeline("dry run and a word", "--dry_run yes", "argument 'yes': belongs to no option: write --key value"),
    pipeline("no shards", "--generate.shards 0", "--generate.shards: should be greater than or equal to 1, and is 0"),
    pipeline("no such config", "--train.config no.yaml", "no.yaml: not found, and p.yaml names it"),
    pipeline(
        "unknown variant",
        "--train.variant all",
        "--train.variant: is 'all', and has to be one of rltpf, sft_verified, sft_all",
    ),
    pipeline(
        "name outside the folder",
        "--evaluate.models '{../x: m}'",
        "--evaluate.models: names a model '../x': it names a folder, so use letters, digits, _, . and - alone",
    ),
    pipeline(
        "faults of the stages",
        "--generate.arguments [--prover.worker=1] --train.arguments [--beta=1,--rate=1] "
        "--evaluate.arguments [--dataset.limit=x] --dry_run",
        [
            "generate: --prover.worker: unknown key (did you mean 'workers'?)",
            "train: argument `beta` is an option of DPO alone: write it into the section `dpo`",
            "train: argument `rate` is unknown: no stage has it",
            "evaluate: --dataset.limit: should be a valid integer, and is 'x'",
        ],
    ),
    pipeline(
        "the config of another command",
        "--generate.config r.yaml",
        [
            "/generate: r.yaml: dataset: is missing: .*/",
            "/generate: r.yaml: llm: is missing: .*/",
            "/generate: r.yaml: model_name_or_path: unknown key .*/",
        ],
    ),
    pipeline("no sbatch", "", "sbatch: not found: submit from a machine of the cluster, or see --dry_run"),
]

TABLE = [*YAML, *ARGUMENTS, *DATA, *FILES_OF_RUNS, *TRAINING, *VALIDATION, *SUBMITTING]


def kinds(rows: list[Bad]) -> list[str]:
    return [row.kind for row in rows]


def prepare(row: Bad, folder: Path) -> list[str]:
    """Write the files of a row; its arguments."""
    for name, content in {**FILES, **row.files}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return shlex.split(row.argv)


def is_said(lines: str | list[str], error: str) -> bool:
    expected = [lines] if isinstance(lines, str) else lines
    patterns = [line[1:-1] if line[:1] == line[-1:] == "/" else re.escape(line) for line in expected]
    return re.fullmatch("".join(f"{pattern}\n" for pattern in patterns), error) is not None


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its own, without a server, Lean or a hub."""
    monkeypatch.chdir(tmp_path)
    for name in os.environ:
        if name.startswith(("OPENAI_", "SLURM_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("RLTPF_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def run(argv: list[str]) -> int:
    """The exit code, from wherever the command ends."""
    try:
        return main(argv)
    except SystemExit as end:
        return int(end.code or 0)


@pytest.mark.parametrize("row", TABLE, ids=kinds(TABLE))
def test_bad_input_is_a_line_and_exit_code_2(row: Bad, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    words = prepare(row, tmp_path)
    before = set(tmp_path.rglob("*"))
    code = run(words)
    out, error = capfd.readouterr()
    assert is_said(row.lines, error), error
    assert (code, out) == (2, "")
    assert {path for path in tmp_path.rglob("*") if "cache" not in path.parts} == before


@pytest.mark.parametrize("row", YAML, ids=kinds(YAML))
def test_validation_says_of_a_file_what_its_command_says(
    row: Bad, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prepare(row, tmp_path)
    assert run(["config", "validate", "c.yaml", "--for", "generate"]) == 2
    assert is_said(row.lines, capsys.readouterr().err.replace(" (for `rltpf generate`)", ""))


@pytest.mark.parametrize("kind", ["unknown command", "huge integer", "no Lean", "dataset: not JSON", "train: NaN"])
def test_bad_input_of_a_real_process(kind: str, tmp_path: Path) -> None:
    row = next(row for row in TABLE if row.kind == kind)
    command = [sys.executable, "-m", "rltpf", *prepare(row, tmp_path)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert is_said(row.lines, answer.stderr), answer.stderr
    assert (answer.returncode, answer.stdout) == (2, "")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write everything")
@pytest.mark.parametrize(
    ("argv", "line"),
    [
        ("generate --config c.yaml", "c.yaml: Permission denied: a config is a YAML file"),
        ("evaluate --config e.yaml", "d.jsonl: Permission denied"),
        (
            "judge rows.jsonl --config j.yaml --output_dir folder",
            "folder: cannot be written: Permission denied: choose another output_dir",
        ),
        (
            "judge rows.jsonl --config j.yaml --output_dir folder/o",
            "folder/o: cannot be written: Permission denied: choose another output_dir",
        ),
    ],
    ids=["config", "data set", "output_dir", "folder of output_dir"],
)
def test_without_permission(argv: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = prepare(Bad("", argv, line), tmp_path)
    for name in ("c.yaml", "d.jsonl", "folder"):
        (tmp_path / name).chmod(0)
    assert run(words) == 2
    (tmp_path / "folder").chmod(0o700)
    assert is_said(line, capsys.readouterr().err)


@pytest.mark.parametrize(
    "text",
    [
        b"\xef\xbb\xbf" + GENERATE.encode(),
        GENERATE.replace("\n", "\r\n").encode(),
        GENERATE.encode().rstrip(),
        b"output_dir: &m m\ndataset: {path: d.jsonl}\nllm: {model: *m}\n",
    ],
    ids=["byte order mark", "Windows line ends", "no line end", "anchor"],
)
def test_what_looks_bad_and_is_not(text: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "generate.yaml").write_bytes(text)
    assert run(["config", "validate", "generate.yaml"]) == 0
    assert capsys.readouterr() == ("generate.yaml: valid for `rltpf generate`\n", "")


@pytest.mark.parametrize(
    ("name", "text", "commands"),
    [
        ("x.yaml", GENERATE, "`rltpf generate` and `rltpf rewrite` and `rltpf evaluate`"),
        ("evaluate/x.yaml", GENERATE, "`rltpf evaluate`"),
        (
            "x.yaml",
            GENERATE + "num_shards: 4\n",
            "`rltpf generate` and `rltpf rewrite`, which needs besides: --shard_id",
        ),
        ("evaluate/x.yaml", GENERATE + "repairs: 2\n", "`rltpf generate`"),
        ("judge/x.yaml", "llm: {model: m}\n", "`rltpf judge`, which needs besides: --output_dir"),
        (
            "x.yaml",
            "benchmark: gsm8k\n",
            "`rltpf evaluate`, which needs besides: --output_dir --dataset.path --llm.model",
        ),
        (
            "x.yaml",
            "beta: 0.1\nmodel_name_or_path: m\noutput_dir: o\n",
            "`rltpf train dpo` and `rltpf train kto`, which needs besides: --dataset_name",
        ),
        (
            "my_sft.yaml",
            "learning_rate: 1e-4\nmodel_name_or_path: m\noutput_dir: o\ndataset_name: d\n",
            "`rltpf train sft`",
        ),
    ],
)
def test_a_valid_file_is_told_its_command_by_keys_and_then_by_name(
    name: str, text: str, commands: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    assert run(["config", "validate", name]) == 0
    assert capsys.readouterr() == (f"{name}: valid for {commands}\n", "")


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_config_that_we_ship_is_valid(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config", "validate", str(path)]) == 0
    kind = path.stem if path.stem == "judge" else path.parent.name.replace("pipelines", "submit")
    assert re.search(rf"valid for `(rltpf|{kind}) ({kind}|launch)\b", capsys.readouterr().out)


def test_valid_files_are_told_beside_bad_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prepare(TABLE[0], tmp_path)
    assert run(["config", "validate", "c.yaml", "j.yaml"]) == 2
    assert capsys.readouterr() == (
        "j.yaml: valid for `rltpf judge` and `rltpf quality compare` and `rltpf select` and `rltpf scribe`\n",
        "c.yaml: is empty: write `key: value` lines\n",
    )

"""Each role's own model, from the config to the backends behind one transcript."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from rltpf import llm
from rltpf.config import Config, Option, describe, dump, load, result_settings
from rltpf.errors import InputError
from rltpf.llm import build_model
from rltpf.llm.limits import RateLimit
from rltpf.llm.model import Completion, Message, Request, Sampling
from rltpf.llm.settings import LLMConfig, ModelConfig
from rltpf.llm.transcript import request_key


class Outer(Config):
    llm: LLMConfig


TEXT = """
llm:
  model: big
  base_url: http://one/v1
  max_tokens: 100
  roles:
    judge: {model: small, temperature: 0}
    solver: {base_url: http://two/v1, top_p: 0.5}
    prover:
"""


def read(folder: Path, text: str = TEXT, *words: str) -> LLMConfig:
    path = folder / "c.yaml"
    path.write_text(text)
    return load(Outer, path, words).llm


def test_a_role_has_its_own_keys_and_inherits_the_others(tmp_path: Path) -> None:
    config = read(tmp_path, TEXT, "--llm.roles.judge.retries", "1")
    common = {"model": "big", "base_url": "http://one/v1", "max_tokens": 100}
    assert config.for_role("judge") == ModelConfig(**{**common, "model": "small", "temperature": 0.0, "retries": 1})
    assert config.for_role("solver") == ModelConfig(**{**common, "base_url": "http://two/v1", "top_p": 0.5})
    for role in ("prover", "generator", "no such role"):
        assert config.for_role(role) == ModelConfig(**common)
    assert config.sampling("judge", 7) == Sampling(0.0, 1.0, 100, 7)
    assert config.sampling("solver", 7) == Sampling(0.7, 0.5, 100, 7)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("jugde: {model: x}", "c.yaml: llm.roles.jugde: unknown key (did you mean 'judge'?)"),
        ("judge: {modl: x}", "c.yaml: llm.roles.judge.modl: unknown key (did you mean 'model'?)"),
        ("judge: x", "c.yaml: llm.roles.judge: should be a section of keys, and is 'x'"),
        (
            "judge: {temperature: -1}",
            "c.yaml: llm.roles.judge.temperature: should be greater than or equal to 0, and is -1",
        ),
    ],
)
def test_faults_in_a_role_are_named(tmp_path: Path, text: str, fault: str) -> None:
    with pytest.raises(InputError) as caught:
        read(tmp_path, f"llm: {{model: m, roles: {{{text}}}}}")
    assert [line.replace(f"{tmp_path}/", "") for line in caught.value.faults] == [fault]


def test_what_no_role_was_given_is_neither_dumped_nor_compared(tmp_path: Path) -> None:
    plain, own = Outer(llm=LLMConfig(model="m")), Outer(llm=read(tmp_path))
    assert yaml.safe_load(dump(plain))["llm"]["roles"] == {}
    assert yaml.safe_load(dump(own))["llm"]["roles"] == {
        "judge": {"model": "small", "temperature": 0.0},
        "solver": {"base_url": "http://two/v1", "top_p": 0.5},
    }
    assert read(tmp_path, dump(own)) == own.llm
    assert [key for key in result_settings(own) if ".roles." in key] == [
        "llm.roles.judge.model",
        "llm.roles.judge.temperature",
        "llm.roles.solver.top_p",
    ]


def test_help_has_one_line_for_each_role() -> None:
    options = [option for option in describe(Outer) if option.key.startswith("llm.roles")]
    assert len(options) == 11
    assert options[3] == Option(
        "llm.roles.judge",
        "section",
        "none",
        "Says whether a question and its retelling agree, or whether a rewritten problem is a good one.",
    )


class Named:
    """Answers with the name of the model and server that was asked."""

    made: list[ModelConfig]
    limits: list[RateLimit]

    def __init__(self, config: ModelConfig, limit: RateLimit) -> None:
        self.made.append(config)
        self.limits.append(limit)
        self.name = config.model
        self._reply = f"{config.model} at {config.base_url}"

    async def complete(self, request: Request) -> Completion:
        return Completion(self._reply)

    async def close(self) -> None:
        self.made.pop()


def watch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llm, "_backend", Named)
    monkeypatch.setattr(Named, "made", [], raising=False)
    monkeypatch.setattr(Named, "limits", [], raising=False)


def test_requests_are_routed_by_role_behind_one_transcript(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watch(monkeypatch)
    config = read(tmp_path)

    async def ask(*roles: str) -> list[Completion]:
        model = build_model(config, tmp_path / "t.jsonl")
        # The common one, the judge's and the solver's; only the sampling of the others differs, if anything does.
        assert [(made.model, made.base_url) for made in Named.made] == [
            ("big", "http://one/v1"),
            ("small", "http://one/v1"),
            ("big", "http://two/v1"),
        ]
        replies = [await model.complete(Request(role, (Message("user", "2 + 2?"),))) for role in roles]
        await model.close()
        assert Named.made == []
        return replies

    replies = asyncio.run(ask("formaliser", "judge", "nobody", "solver"))
    # The solver's model is the formaliser's by name, and so has answered already.
    assert [(reply.text, reply.cached) for reply in replies] == [
        ("big at http://one/v1", False),
        ("small at http://one/v1", False),
        ("big at http://one/v1", True),
        ("big at http://one/v1", True),
    ]
    rows: list[dict[str, Any]] = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    request = Request("judge", (Message("user", "2 + 2?"),))
    assert [(row["model"], row["key"]) for row in rows] == [
        ("big", request_key("big", request)),
        ("small", request_key("small", request)),
    ]


def test_roles_that_differ_in_their_sampling_share_a_backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    watch(monkeypatch)
    roles = "{judge: {temperature: 0, top_p: 0.5, max_tokens: 9}, solver: {model: m}}"
    build_model(read(tmp_path, f"llm: {{model: m, roles: {roles}}}"), tmp_path / "t.jsonl")
    assert len(Named.made) == 1


def test_roles_with_the_same_model_server_and_rates_share_a_rate_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch(monkeypatch)
    roles = "{judge: {retries: 1}, solver: {timeout: 9}, prover: {model: n}, rewriter: {requests_per_minute: 6}}"
    build_model(read(tmp_path, f"llm: {{model: m, requests_per_minute: 60, roles: {roles}}}"), tmp_path / "t.jsonl")
    asked = {(config.model, config.retries, config.timeout, config.requests_per_minute) for config in Named.made}
    assert asked == {("m", 6, 120, 60), ("m", 1, 120, 60), ("m", 6, 9, 60), ("n", 6, 120, 60), ("m", 6, 120, 6)}
    assert len(set(Named.limits)) == 3


def test_a_run_with_two_models_is_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    requests = [Request(role, (Message("user", role),)) for role in ("judge", "solver")]

    async def ask(config: LLMConfig, transcript: Path) -> list[str]:
        model = build_model(config, transcript)
        replies = [(await model.complete(request)).text for request in requests]
        await model.close()
        return replies

    config = read(tmp_path, "llm: {model: a, roles: {judge: {model: b}}}")
    with monkeypatch.context() as patched:
        watch(patched)
        live = asyncio.run(ask(config, tmp_path / "t.jsonl"))
    text = f"llm: {{model: a, backend: replay, transcript: {tmp_path}/t.jsonl, roles: {{judge: {{model: b}}}}}}"
    assert asyncio.run(ask(read(tmp_path, text), tmp_path / "new.jsonl")) == live == ["b at None", "a at None"]

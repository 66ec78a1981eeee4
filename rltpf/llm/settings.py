"""The `llm:` section: which model answers, and how it is asked; for each role another one where it says so."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Optional

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    ValidationInfo,
    create_model,
    field_validator,
    model_serializer,
)

from rltpf.config import SAME_RESULTS, Config, faults_at
from rltpf.llm.model import Completion, Sampling

_IDENTITY = frozenset({"backend", "model", "base_url"})
"""The keys that say which model it is: a price goes with them."""
_NO_TRANSCRIPT = "is missing: backend replay needs a recorded transcript"


class ModelConfig(Config):
    """One model and how it is asked."""

    backend: Literal["openai", "replay", "transformers", "vllm"] = "openai"
    """`openai`: any compatible server; `transformers`, `vllm`: a local folder or hub id, in this process; `replay`: a
    recorded transcript."""
    model: str
    """Name as the server knows it, or folder or hub id. Part of the cache key: a replay names the recorded model."""
    base_url: str | None = Field(None, pattern="^https?://", json_schema_extra=SAME_RESULTS)
    """Server address; None takes OPENAI_BASE_URL. The key comes from OPENAI_API_KEY alone."""
    transcript: Path | None = Field(None, validate_default=True)
    """Recorded transcript that `replay` answers from."""
    max_concurrent: int = Field(16, ge=1, json_schema_extra=SAME_RESULTS)
    """Requests in flight at once."""
    requests_per_minute: float | None = Field(None, gt=0, json_schema_extra=SAME_RESULTS)
    """Rate limit of the server behind `openai`; None: no limit. Roles with the same model, server, rates share it."""
    tokens_per_minute: float | None = Field(None, gt=0, json_schema_extra=SAME_RESULTS)
    """The same for prompt and reply tokens."""
    timeout: float = Field(120.0, gt=0, json_schema_extra=SAME_RESULTS)
    """Seconds until one request is given up and tried again; waiting for a rate limit does not count."""
    retries: int = Field(6, ge=0, json_schema_extra=SAME_RESULTS)
    """Tries after the first on 429, 5xx, time-outs and broken connections."""
    temperature: float = Field(0.7, ge=0)
    """0 is greedy."""
    top_p: float = Field(1.0, gt=0, le=1)
    """Sample only from the most probable tokens that together reach this probability."""
    max_tokens: int = Field(2048, ge=1)
    """Longest reply."""
    prompt_price: float | None = Field(None, ge=0, json_schema_extra=SAME_RESULTS)
    """Price of a million prompt tokens, in any currency; None: unknown. A role with another model inherits no price."""
    completion_price: float | None = Field(None, ge=0, json_schema_extra=SAME_RESULTS)
    """Price of a million reply tokens."""

    @field_validator("transcript")
    @classmethod
    def _can_be_replayed(cls, transcript: Path | None, info: ValidationInfo) -> Path | None:
        if transcript is None and info.data.get("backend") == "replay":
            raise ValueError(_NO_TRANSCRIPT)
        return transcript

    def for_role(self, role: str) -> ModelConfig:
        """The config that requests of this role go by: this one, where no role has its own."""
        return self

    def sampling(self, role: str, seed: int | None) -> Sampling:
        """How requests of this role are sampled."""
        own = self.for_role(role)
        return Sampling(own.temperature, own.top_p, own.max_tokens, seed)

    def cost(self, role: str, completion: Completion) -> float | None:
        """What a model's reply to this role costs, in the currency of the prices; None where they are not known."""
        own = self.for_role(role)
        if own.backend == "replay":
            return 0.0
        if own.prompt_price is None or own.completion_price is None:
            return None
        return (completion.prompt_tokens * own.prompt_price + completion.completion_tokens * own.completion_price) / 1e6


class _Optional(Config):
    """A section of keys that may all be left out; what is None was left out, and is not written."""

    @model_serializer(mode="wrap")
    def _given(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return {name: value for name, value in handler(self).items() if value is not None}


class _RoleSection(_Optional):
    one_line: ClassVar[bool] = True


def _optional_fields() -> dict[str, Any]:
    """The fields of `ModelConfig` with their checks, None where they are not given, as `create_model` takes them."""
    return {
        name: (
            Optional[Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation],  # noqa: UP045
            Field(None, description=field.description, json_schema_extra=field.json_schema_extra),
        )
        for name, field in ModelConfig.model_fields.items()
    }


RoleConfig = create_model("RoleConfig", __base__=_RoleSection, **_optional_fields())


class Roles(_Optional):
    """What single roles have of their own: any key of the llm section; what is not given is inherited from there."""

    generator: RoleConfig | None = None
    """Writes new problems."""
    formaliser: RoleConfig | None = None
    """Puts questions and answers into Lean, and repairs them."""
    back_translator: RoleConfig | None = None
    """Tells in words what a formalisation says."""
    judge: RoleConfig | None = None
    """Says whether a question and its retelling agree, or whether a rewritten problem is a good one."""
    rewriter: RoleConfig | None = None
    """Rewrites the problems of a benchmark."""
    screener: RoleConfig | None = None
    """Says whether a rewritten problem can be used."""
    checker: RoleConfig | None = None
    """Says whether a Lean statement says what its problem says."""
    prover: RoleConfig | None = None
    """Looks for proofs."""
    extractor: RoleConfig | None = None
    """Copies the answer out of a proof."""
    classifier: RoleConfig | None = None
    """Says whether a copied answer is what was asked for."""
    solver: RoleConfig | None = None
    """Answers questions."""


class LLMConfig(ModelConfig):
    """A model for all roles, and what single roles have of their own."""

    roles: Roles = Roles()

    @field_validator("roles")
    @classmethod
    def _can_be_replayed_by_role(cls, roles: Roles, info: ValidationInfo) -> Roles:
        # Where the common transcript is at fault or missing, one line says it.
        if info.data.get("backend") == "replay" or info.data.get("transcript", "at fault") is not None:
            return roles
        if faults := [
            ((name, "transcript"), _NO_TRANSCRIPT)
            for name, own in roles
            if own is not None and own.backend == "replay" and own.transcript is None
        ]:
            raise faults_at(faults)
        return roles

    def for_role(self, role: str) -> ModelConfig:
        """The config that requests of this role go by. A role without a section goes by the common one."""
        own = getattr(self.roles, role) if role in Roles.model_fields else None
        given = own.model_dump() if own is not None else {}
        common = {name: getattr(self, name) for name in ModelConfig.model_fields}
        if given.keys() & _IDENTITY:
            common |= {"prompt_price": None, "completion_price": None}
        return ModelConfig(**{**common, **given})

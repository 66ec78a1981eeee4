"""The `prover:` section of every config that needs Lean."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationInfo, field_validator

from rltpf.config import SAME_RESULTS, Config


class ProverConfig(Config):
    toolchain: Literal["auto", "native", "embedded", "kimina"] = "auto"
    """`native` needs `lake`; `embedded` is Lean in WebAssembly; `auto` takes native Lean when `lake` is on the PATH.
    `kimina` is a Kimina Lean Server, which is trusted as an installed Lean is."""
    url: str | None = Field(None, validate_default=True)
    """Address of the Kimina Lean Server; its key is read from the environment variable LEAN_SERVER_API_KEY."""
    project: Path | None = None
    """Lake project whose dependencies (Mathlib, say) the header imports; native toolchain only."""
    header: str | None = None
    """Lean text before every statement (imports, opens). None: the toolchain's own default."""
    workers: int = Field(1, ge=1, json_schema_extra=SAME_RESULTS)
    """Lean processes, of a server too, which gets up to 16 requests for each. An embedded one takes 1.4 GB."""
    timeout: float = Field(60.0, gt=0)
    """Seconds of wall clock that one request may take inside Lean; waiting for a worker does not count."""
    cache: bool = Field(True, json_schema_extra=SAME_RESULTS)
    """Take verdicts that an earlier run had from the same Lean, judge and texts, and keep new ones."""
    max_heartbeats: int = Field(200_000, ge=1)
    """Lean's own deterministic limit for one declaration."""

    @field_validator("url")
    @classmethod
    def _goes_with_a_server(cls, url: str | None, info: ValidationInfo) -> str | None:
        toolchain = info.data.get("toolchain")
        if toolchain == "kimina" and not url:
            raise ValueError("is missing: toolchain kimina needs the address of a Kimina Lean Server")
        if toolchain not in (None, "kimina") and url is not None:
            raise ValueError(
                f"is for toolchain kimina, and the toolchain is {toolchain}: set it to kimina, or drop url"
            )
        return url

    @field_validator("project")
    @classmethod
    def _goes_with_lake(cls, project: Path | None, info: ValidationInfo) -> Path | None:
        if project is not None and info.data.get("toolchain") == "kimina":
            raise ValueError("needs the native toolchain: a server has its own libraries")
        if project is not None and info.data.get("toolchain") == "embedded":
            raise ValueError("needs the native toolchain: the embedded Lean has no lake and no Mathlib")
        return project

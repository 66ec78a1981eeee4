"""The `prover:` section of every config that needs Lean."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from rltpf.config import SAME_RESULTS, Config


class ProverConfig(Config):
    toolchain: Literal["auto", "native", "embedded", "kimina"] = "auto"
    """`native` needs `lake`; `embedded` is Lean in WebAssembly; `auto` takes native Lean when `lake` is on the PATH.
    `kimina` is a Kimina Lean Server, which is trusted as an installed Lean is."""
    url: str | None = None
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

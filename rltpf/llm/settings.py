"""The `llm:` section: which model answers, and how it is asked."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from rltpf.config import SAME_RESULTS, Config


class LLMConfig(Config):
    backend: Literal["openai", "replay", "transformers"] = "openai"
    """`openai`: any compatible server; `transformers`: a local folder or hub id; `replay`: a recorded transcript."""
    model: str
    """Name as the server knows it, or folder or hub id. Part of the cache key: a replay names the recorded model."""
    base_url: str | None = Field(None, pattern="^https?://", json_schema_extra=SAME_RESULTS)
    """Server address; None takes OPENAI_BASE_URL. The key comes from OPENAI_API_KEY alone."""
    transcript: Path | None = None
    """Recorded transcript that `replay` answers from."""
    max_concurrent: int = Field(16, ge=1, json_schema_extra=SAME_RESULTS)
    """Requests in flight at once."""
    timeout: float = Field(120.0, gt=0, json_schema_extra=SAME_RESULTS)
    """Seconds until one request is given up and tried again."""
    retries: int = Field(6, ge=0, json_schema_extra=SAME_RESULTS)
    """Tries after the first on 429, 5xx, time-outs and broken connections."""
    temperature: float = Field(0.7, ge=0)
    """0 is greedy."""
    top_p: float = Field(1.0, gt=0, le=1)
    """Sample only from the most probable tokens that together reach this probability."""
    max_tokens: int = Field(2048, ge=1)
    """Longest reply."""

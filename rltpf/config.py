"""Configuration: typed sections, read from YAML, overridden on the command line."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Config(BaseModel):
    """Base of every section: unknown keys are refused, values are never changed after loading."""

    model_config = ConfigDict(extra="forbid", frozen=True)

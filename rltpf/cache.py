"""Where downloads are kept between runs."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder() -> Path:
    """`RLTPF_CACHE`, else `rltpf` in the user's cache folder."""
    if folder := os.environ.get("RLTPF_CACHE"):
        return Path(folder).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rltpf"

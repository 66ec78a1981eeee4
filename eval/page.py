"""`samples.html`: an evaluation's replies on one page, to read and to filter; nothing is loaded from elsewhere."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eval.score import Sample

_TEMPLATE = Path(__file__).with_name("page.html")
_FIELDS = (
    "id", "number", "question", "gold", "output", "strict", "lenient", "correct_strict", "correct_lenient",
    "correct_math_verify", "finish_reason",
)  # fmt: skip


def render(metrics: Mapping[str, Any], samples: Sequence[Sample]) -> str:
    """The page; what models wrote is data in it, never markup or program."""
    rows = [
        {**{field: getattr(sample, field) for field in _FIELDS}, "error": sample.error and sample.error.detail}
        for sample in samples
    ]
    benchmark = metrics["benchmark"]
    title = f"{metrics['model']} on {benchmark['name']} v{benchmark['version']}"
    # `</script>` inside a string would end the script, and `<!--` begin another state of it.
    data = json.dumps(rows, ensure_ascii=False).replace("<", "\\u003c")
    values = {"title": html.escape(title), "rows": data}
    # In one pass: a reply may hold the sign of a place.
    return re.sub(r"\{\{ (title|rows) \}\}", lambda place: values[place[1]], _TEMPLATE.read_text(encoding="utf-8"))

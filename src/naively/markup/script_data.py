"""Data within scripts: JSON that no text in it can end early."""

from __future__ import annotations

import json
import re

from .._types import JsonObject


def json_for_script(value: JsonObject) -> str:
    """Return JSON that ends no script element, whatever texts it holds."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Half of a surrogate pair cannot be written as UTF-8; as an escape JSON can hold it.
    return re.sub("[<>&\u2028\u2029\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", text)

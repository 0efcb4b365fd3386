"""The page of a model, and the page that asks for a token; both with their Content-Security-Policy."""

from __future__ import annotations

import html
import re
from functools import cache
from pathlib import Path

from .._types import JsonObject
from ..estimator.html_report import ReportOptions, page_data_of
from ..page.page import content_security_policy, report_page
from .served_model import Snapshot

UNFRAMED = "; frame-ancestors 'none'"


def model_page(snapshot: Snapshot, server: JsonObject) -> tuple[bytes, bytes]:
    """Return the page of a model, whose scripts may send requests to this server, and its policy."""
    options = ReportOptions(title=f"{snapshot.name}.parquet", language=str(server["language"]))
    text = report_page(page_data_of(snapshot.fitted, options=options, server=server))
    policy = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)"', text)[0]
    return text.encode(), f"{html.unescape(policy)}{UNFRAMED}".encode()


@cache
def token_page() -> tuple[bytes, str]:
    """Return the page that asks for the token, and its policy."""
    text = (Path(__file__).parent / "token.html").read_text("utf-8")
    style, script = (re.findall(f"<{tag}>(.*?)</{tag}>", text, re.DOTALL)[0] for tag in ("style", "script"))
    return text.encode(), content_security_policy(style, script, served=True) + UNFRAMED

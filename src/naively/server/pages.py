"""The page of a model, and the page that asks for a token; both with a Content-Security-Policy of hashes."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from typing import NamedTuple

from .._types import JsonObject
from ..estimator.html_report import ReportOptions, page_data_of
from ..page.page import report_page
from .served_model import Snapshot


class ServedPage(NamedTuple):
    """A page and its Content-Security-Policy."""

    content: bytes
    policy: str


def page_policy(scripts: list[str], styles: list[str]) -> str:
    """Return the policy of a page: nothing but these scripts and styles, and requests to this server."""

    def hashes(texts: list[str]) -> str:
        found = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts]
        return " ".join(f"'sha256-{digest}'" for digest in found) or "'none'"

    return (
        f"default-src 'none'; script-src {hashes(scripts)}; style-src {hashes(styles)}; img-src data:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


def page_for(snapshot: Snapshot, server: JsonObject) -> ServedPage:
    """Return the page of a model: its report, whose scripts may ask this server."""
    options = ReportOptions(title=f"{snapshot.name}.parquet", language=str(server["language"]))
    text = report_page(page_data_of(snapshot.fitted, options=options, server=server))
    found = re.search(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert found is not None, "a page has its policy"
    return ServedPage(text.encode(), f"{html.unescape(found[1])}; frame-ancestors 'none'")


TOKEN_SCRIPT = """
"use strict";
const form = document.querySelector("form"), note = document.querySelector("output");
async function enter(token) {
  const answer = await fetch("/api/v1/session", {method: "POST",
    headers: {"Authorization": "Bearer " + token, "Content-Type": "application/json"}, body: "{}"});
  if (answer.ok) location.replace(location.pathname);
  else note.textContent = (await answer.json()).detail;
}
form.addEventListener("submit", (event) => { event.preventDefault(); enter(form.elements.token.value); });
const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given) { history.replaceState(null, "", location.pathname); enter(given); }
"""
TOKEN_STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 26rem; margin: 15vh auto 0; padding: 0 1rem; }
input, button { font: inherit; padding: .4rem .6rem; }
input { width: 100%; box-sizing: border-box; margin: .3rem 0 .8rem; }
output { display: block; margin-top: .8rem; }
"""
TOKEN_PAGE = ServedPage(
    f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Naively: token</title><style>{TOKEN_STYLE}</style></head>
<body><main><h1>Naively</h1>
<form><label for="token">Token of this server</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<button>Enter</button><output role="alert"></output></form></main>
<script>{TOKEN_SCRIPT}</script></body></html>
""".encode(),
    page_policy([TOKEN_SCRIPT], [TOKEN_STYLE]),
)

"""Tables and pages for the tests of the page."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import naively as nv
from naively.estimator.html_report import page_data_of
from naively.page.content import PageData

# Next to the repository, or next to a folder that holds it.
SHARED = next((one / "shared" / "data" for one in Path(__file__).resolve().parents if (one / "shared").is_dir()), None)
EXAMPLES = Path(__file__).parents[1] / "examples"
HOSTILE = [
    "</script>", '"><img src=x onerror=alert(1)>', "it's \"quoted\"", "مرحبا", "🐧", "a & b <b>", "\u2028 line", "]]>",
    "{x}",
]  # fmt: skip


def shared_table(name: str, **options: Any) -> pd.DataFrame:
    """Return a table of the shared data; the test is skipped where there is none."""
    if SHARED is None or not (SHARED / name).exists():
        pytest.skip("needs the data sets of ../shared/data beside the repository")
    return pd.read_csv(SHARED / name, **options)


def penguin_table() -> pd.DataFrame:
    """Return the penguins of the examples."""
    return pd.read_csv(EXAMPLES / "penguins.csv")


def page_data(nb: nv.NaiveBayes, **more: Any) -> PageData:
    """Return what the page of a model without rows shows."""
    return replace(page_data_of(nb.fitted_), **more)


def unpacked_data(html: str) -> dict[str, Any]:
    """Return the data of a page, as its scripts read them."""
    packed = b64decode(re.search(r'id="naively-packed">([^<]*)<', html)[1])
    head, _, rest = gzip.decompress(packed).decode("utf-8", "surrogatepass").partition("\n")
    return json.loads(rest.encode("utf-16-le")[2 * int(head) :].decode("utf-16-le"))

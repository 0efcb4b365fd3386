"""Tiny data for every benchmark: what ``--smoke`` of a script runs on, so that none rots; its times mean nothing."""

from __future__ import annotations

import argparse
import atexit
import functools
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

TABLE = "adult"  # the name of the table, which has an official split
TEXTS = "sms-spam"  # the name of the English texts


def parsed(parser: argparse.ArgumentParser, **tiny: Any) -> argparse.Namespace:
    """Return what was asked for on the command line; with ``--smoke`` these options are as given, or called."""
    parser.add_argument("--smoke", action="store_true", help="tiny data, answers checked; times and targets are not")
    options = parser.parse_args()
    if options.smoke:
        vars(options).update({name: value() if callable(value) else value for name, value in tiny.items()})
    return options


@functools.cache
def shared() -> Path:
    """Return a folder like ../shared, with a small table and two small sets of texts; removed when Python ends."""
    folder = Path(tempfile.mkdtemp(prefix="naively-smoke-"))
    atexit.register(shutil.rmtree, folder)
    data(folder).mkdir()
    sets = {TABLE: table(folder), TEXTS: texts(folder, TEXTS, "en"), "zh-titles": texts(folder, "zh-titles", "zh")}
    (data(folder) / "datasets.json").write_text(json.dumps(sets), encoding="utf-8")
    return folder


def data(folder: Path | None = None) -> Path:
    """Return where the sets are."""
    return (shared() if folder is None else folder) / "data"


def table(folder: Path, rows: int = 700, learned: int = 500) -> dict[str, Any]:
    """Write a table of numbers and categories in two files, and return its entry in the list of sets."""
    import pandas as pd  # here, because processes that are timed need none of this

    rng = np.random.default_rng(0)
    y = rng.random(rows) < 0.4
    jobs = np.array(["private", "state", "self"])[rng.integers(3, size=rows)]
    made = pd.DataFrame(
        {
            "age": rng.normal(38 + 8 * y, 10).round(),
            "hours-per-week": rng.normal(40 + 4 * y, 8).round(1),
            "education": np.array(list("abcdef"))[np.minimum(rng.geometric(0.3 + 0.2 * y) - 1, 5)],
            "workclass": np.where(rng.random(rows) < 0.05, "?", jobs),
            "income": np.where(y, ">50K", "<=50K"),
        }
    )
    made[:learned].to_csv(data(folder) / f"{TABLE}-train.csv.gz", index=False)
    made[learned:].to_csv(data(folder) / f"{TABLE}-test.csv.gz", index=False)
    kinds = {"age": "num", "hours-per-week": "num", "education": "cat", "workclass": "cat"}
    files = {"file": f"{TABLE}-train.csv.gz", "test_file": f"{TABLE}-test.csv.gz"}
    sizes = {"rows": learned, "test_rows": rows - learned}
    return {"task": "tabular", **files, **sizes, "target": "income", "missing": "?", "kinds": kinds}


def texts(folder: Path, name: str, language: str, rows: int = 600) -> dict[str, Any]:
    """Write texts of two classes, whose words differ in frequency, and return their entry in the list of sets."""
    import pandas as pd

    rng = np.random.default_rng(1)
    y = rng.integers(2, size=rows)
    words = [chr(0x4E00 + k) for k in range(200)] if language == "zh" else [f"w{k:02x}ord" for k in range(200)]
    drawn = np.minimum(rng.geometric(0.03, (rows, 12)) - 1 + 20 * y[:, None], 199)
    lines = [("" if language == "zh" else " ").join(words[k] for k in line) for line in drawn]
    made = pd.DataFrame({"label": np.array(["ham", "spam"])[y], "text": lines})
    made.to_csv(data(folder) / f"{name}.csv", index=False)
    return {"task": "text", "lang": language, "file": f"{name}.csv", "target": "label", "rows": rows}

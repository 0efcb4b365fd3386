"""Documents of real words with classes of their own, cut from the text sets of ../shared: as many as are asked for."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

SHARED = Path(__file__).resolve().parents[2] / "shared"
# The sets have more labels: those with the most text are the classes.
CLASSES = 20


class Documents(NamedTuple):
    """Texts, the class of each, and how many megabytes of UTF-8 they take."""

    texts: list[str]
    y: Any
    megabytes: float

    def first(self, megabytes: float) -> Documents:
        """Return the first documents that take so many megabytes, or all."""
        most = max(round(len(self.texts) * min(megabytes / self.megabytes, 1.0)), CLASSES)
        return made(self.texts[:most], self.y[:most])


def made(texts: list[str], y: Any) -> Documents:
    """Return texts and their classes with their size."""
    return Documents(texts, y, sum(len(text.encode()) for text in texts) / 1e6)


def sources(shared: Path, language: str) -> dict[str, str]:
    """Return all texts of a language by set and label, one after the other; of the classes with the most text."""
    found: dict[str, str] = {}
    for name, facts in json.loads((shared / "data" / "datasets.json").read_text("utf-8")).items():
        if facts["task"] != "text" or facts["lang"] != language:
            continue
        table = pd.read_csv(shared / "data" / facts["file"], dtype=str, keep_default_na=False)
        for label, texts in table.groupby("label")["text"]:
            found[f"{name} {label}"] = "\n".join(texts)
    return dict(sorted(found.items(), key=lambda one: (-len(one[1]), one[0]))[:CLASSES])


def cut(whole: dict[str, str], rows: int, length: int, seed: int = 0) -> tuple[list[str], Any]:
    """Return pieces cut anywhere, in random order, of each class by how much text it has; and their classes."""
    names, sizes = np.array(list(whole)), np.array([len(text) - length for text in whole.values()])
    random = np.random.default_rng(seed)
    of = random.choice(len(names), size=rows, p=sizes / sizes.sum())
    starts = (random.random(rows) * sizes[of]).astype(np.int64)
    texts = list(whole.values())
    return [texts[k][start : start + length] for k, start in zip(of, starts.tolist(), strict=True)], names[of]


def documents(shared: Path, language: str, megabytes: float, length: int) -> Documents:
    """Return documents of so many characters that take about so many megabytes."""
    whole = sources(shared, language)
    some = next(iter(whole.values()))[: 1 << 20]
    return made(*cut(whole, int(megabytes * 1e6 / length / (len(some.encode()) / len(some))), length))


def batches(shared: Path, gigabytes: float, length: int) -> Iterator[tuple[list[str], Any]]:
    """Return English documents of so many gigabytes, some at a time, and their classes."""
    whole, left, each = sources(shared, "en"), round(gigabytes * 1e9 / length), 50_000
    for seed in range(-(-left // each)):
        yield cut(whole, min(each, left - seed * each), length, seed)


def write_csv(path: Path, shared: Path, gigabytes: float, length: int) -> None:
    """Write a table of documents and their classes."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["label", "body"])
        for texts, y in batches(shared, gigabytes, length):
            writer.writerows(zip(y, texts, strict=True))


def write_parquet(path: Path, shared: Path, gigabytes: float, length: int) -> None:
    """Write the same table in columns."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetWriter(path, pa.schema({"label": pa.string(), "body": pa.string()})) as writer:
        for texts, y in batches(shared, gigabytes, length):
            writer.write_table(pa.table({"label": pa.array(y.tolist(), pa.string()), "body": texts}))

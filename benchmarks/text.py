"""The speed of TextCounter against CountVectorizer, in one process: ``python3 chores.py bench text``.

Documents are cut from the text sets of ../shared, so that they hold real Unicode and words as common as they are. Every
vocabulary and every count is compared before it is believed. Times are the best of several; what counts is the ratio.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import sklearn
from sklearn.feature_extraction.text import CountVectorizer

from naively.sklearn import TextCounter
from naively.text import TextReader, Tokens
from naively.threads import allowed

SHARED = Path(__file__).resolve().parents[2] / "shared"
CLASSES = 20


class Case(NamedTuple):
    """A line of the table: the language, the megabytes, the options of both, and the ratio to reach."""

    title: str
    language: str
    megabytes: int
    length: int
    ours: dict[str, Any]
    theirs: dict[str, Any]
    target: float


CASES = (
    Case("English, words", "en", 88, 880, {"cjk": "words"}, {}, 10),
    Case("English, words and pairs", "en", 22, 880, {"cjk": "words", "ngrams": (1, 2)}, {"ngram_range": (1, 2)}, 10),
    Case(
        *("Chinese, characters and pairs", "zh", 15, 300),
        {"analyzer": "char", "ngrams": (1, 2)},
        {"analyzer": "char", "ngram_range": (1, 2)},
        10,
    ),
)


def main() -> int:
    """Print the table; the exit code says whether every target was met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=Path, default=SHARED, help="where the text sets are")
    parser.add_argument("--scale", type=float, default=1.0, help="multiply the number of documents")
    parser.add_argument("--only", default="", help="run the lines whose title contains this")
    options = parser.parse_args()
    versions = f"Python {platform.python_version()}, scikit-learn {sklearn.__version__}"
    print(f"{platform.machine()}, {allowed()} threads, {versions}\n")
    print("| texts | operation | CountVectorizer s | naively s | MB/s | ratio | of CPU time | target |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    met = [run(case, options) for case in CASES if options.only in case.title]
    return 0 if all(met) else 1


def run(case: Case, options: argparse.Namespace) -> bool:
    """Compare, then time, one case."""
    texts = documents(case, options)
    column, megabytes = pa.array(texts, pa.large_string()), sum(len(text.encode()) for text in texts) / 1e6
    title = f"{case.title}, {megabytes:.0f} MB"
    theirs = CountVectorizer(**case.theirs)
    slow, peer = best(lambda: theirs.fit_transform(texts), 1)
    fast, found = best(lambda: TextCounter(**case.ours).fit_transform(texts), 3)
    check(TextCounter(**case.ours).fit(texts[:2000]), CountVectorizer(**case.theirs).fit(texts[:2000]), found, peer)
    met = line(title, "fit_transform, list", slow, fast, megabytes, case.target)
    met &= line(
        title,
        "fit_transform, Arrow",
        slow,
        best(lambda: TextCounter(**case.ours).fit_transform(column), 3)[0],
        megabytes,
        case.target,
    )
    ours = TextCounter(**case.ours).fit(column)
    met &= line(
        title,
        "transform",
        best(lambda: theirs.transform(texts), 1)[0],
        best(lambda: ours.transform(column), 3)[0],
        megabytes,
        case.target,
    )
    tokens = Tokens(
        **{
            "unit" if name == "analyzer" else name: "characters" if value == "char" else value
            for name, value in case.ours.items()
        }
    )
    y = np.random.default_rng(0).integers(CLASSES, size=len(texts)).astype(np.int32)
    counted, sums = best(lambda: sums_of(tokens, column, y), 3)
    np.testing.assert_array_equal(sums.sum(), peer.sum())
    line(title, f"sums of {CLASSES} classes", slow, counted, megabytes, case.target)
    return met


def documents(case: Case, options: argparse.Namespace) -> list[str]:
    """Return pieces of real texts, cut anywhere, in random order."""
    data = options.shared / "data"
    sets = json.loads((data / "datasets.json").read_text("utf-8")).values()
    files = [facts["file"] for facts in sets if facts["task"] == "text" and facts["lang"] == case.language]
    whole = "\n".join(
        text for file in files for text in pd.read_csv(data / file, dtype=str, keep_default_na=False)["text"]
    )
    each = len(whole[: 1 << 20].encode()) / (1 << 20)  # bytes of a character
    size = int(case.megabytes * 1e6 / each / case.length * options.scale)
    starts = np.random.default_rng(0).integers(0, len(whole) - case.length, size)
    return [whole[start : start + case.length] for start in starts]


def sums_of(tokens: Tokens, column: Any, y: Any) -> Any:
    """Return the sums of classes without any matrix."""
    reader = TextReader(tokens)
    return reader.count(column, y, CLASSES).tables(CLASSES, len(reader))[0]


def check(ours: Any, theirs: Any, found: Any, peer: Any) -> None:
    """Refuse to time wrong answers."""
    np.testing.assert_array_equal(ours.get_feature_names_out(), theirs.get_feature_names_out())
    peer.sort_indices()
    assert found.shape == peer.shape, "vocabularies differ"
    assert all(np.array_equal(getattr(found, part), getattr(peer, part)) for part in ("indptr", "indices", "data"))


class Seconds(NamedTuple):
    """How long a call takes, and how much time of all CPUs: the second says more where others use them, too."""

    wall: float
    cpu: float


def best(call: Callable[[], Any], repeats: int) -> tuple[Seconds, Any]:
    """Return the least seconds that a call takes, and what it gives."""
    seconds, result = [], None
    for _ in range(repeats):
        result = None
        start, used = time.perf_counter(), time.process_time()
        result = call()
        seconds.append(Seconds(time.perf_counter() - start, time.process_time() - used))
    return Seconds(*map(min, zip(*seconds, strict=True))), result


def line(title: str, operation: str, slow: Seconds, fast: Seconds, megabytes: float, target: float) -> bool:
    """Print a line, and tell whether the target was met."""
    ratio = slow.wall / fast.wall
    print(
        f"| {title} | {operation} | {slow.wall:.2f} | {fast.wall:.2f} | {megabytes / fast.wall:.0f} | {ratio:.1f}× | "
        f"{slow.cpu / fast.cpu:.1f}× | {target:g}×{'' if ratio >= target else ' ✗'} |",
        flush=True,
    )
    return ratio >= target


if __name__ == "__main__":
    raise SystemExit(main())

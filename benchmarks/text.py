"""The speed of texts against scikit-learn and others, in one run: ``python3 chores.py bench text``.

Documents are cut from the text sets of ../shared, so that they hold real Unicode and words as common as they are; the
set and the label that one comes from is its class. Every answer is compared before it is timed. Our times are the best
of several; what counts is the ratio.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import sklearn
import smoke
import text_peers
import text_stream
from sklearn.feature_extraction.text import CountVectorizer
from text_sets import SHARED, Documents, documents

import naively as nv
from naively._threads import allowed
from naively.sklearn import TextCounter

REPEATS = 3
MESSAGES = ("Free entry! Text WIN to 80082 now to claim your prize", "I will be home by six, do you need anything?")


class Case(NamedTuple):
    """Lines of the table: the language, the megabytes, the options of all, and the ratios to reach."""

    title: str
    language: str
    megabytes: float
    length: int
    counter: dict[str, Any]
    words: dict[str, Any]
    theirs: dict[str, Any]
    counting: float
    target: float


CASES = (
    Case("English, words", "en", 88, 880, {"cjk": "words"}, {"ngram_range": (1, 1), "cjk": "words"}, {}, 10, 20),
    Case(
        *("English, words and pairs", "en", 22, 880),
        {"cjk": "words", "ngram_range": (1, 2)},
        {"ngram_range": (1, 2), "cjk": "words"},
        {"ngram_range": (1, 2)},
        *(10, 15),
    ),
    Case(
        *("Chinese, characters and pairs", "zh", 30, 300),
        {"analyzer": "char", "ngram_range": (1, 2)},
        {"unit": "characters", "ngram_range": (1, 2)},
        {"analyzer": "char", "ngram_range": (1, 2)},
        *(10, 15),
    ),
)


def main() -> int:
    """Print the tables; the exit code says whether every target was met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=Path, default=SHARED, help="where the text sets are")
    parser.add_argument("--scale", type=float, default=1.0, help="multiply the number of documents")
    parser.add_argument(
        "--stream-gb", type=float, default=0.5, help="the size of the file that is streamed; 0 for none"
    )
    parser.add_argument("--only", default="", help="run the parts whose title contains this")
    options = smoke.parsed(parser, shared=smoke.shared, scale=0.002, stream_gb=0.0003)
    versions = f"Python {platform.python_version()}, scikit-learn {sklearn.__version__}"
    print(f"{platform.machine()}, {allowed()} threads, {versions}, load {os.getloadavg()[0]:.1f}\n")
    print("| texts | operation | peer | its s | naively s | MB/s | ratio | of CPU time | target |")
    print("|---|---|---|---:|---:|---:|---:|---:|---:|")
    met = [run(case, options) for case in CASES if options.only in case.title]
    if options.only in "auto":
        met.append(auto(documents(options.shared, "en", 20 * options.scale, 880)))
    if options.only in "streamed" and options.stream_gb:
        met += list(text_stream.table(options.shared, options.stream_gb, 1 if options.smoke else None))
    return 0 if all(met) or options.smoke else 1


# -- counting and the textbook model -----------------------------------------------------------------------------------


def run(case: Case, options: argparse.Namespace) -> bool:
    """Compare, then time, one case."""
    rows = documents(options.shared, case.language, case.megabytes * options.scale, case.length)
    title = f"{case.title}, {rows.megabytes:.0f} MB"
    met = counting(case, rows, title)
    nb, times = text_book(case.words), {}
    peer = text_peers.bayes(**case.theirs)
    slow, _ = best(lambda: peer.fit(rows.texts, rows.y), 1)
    fast, _ = best(lambda: ready(nb, rows))
    same_answers(nb, peer, rows.texts[:2000])
    times["fit"] = fast
    met &= line(title, "fit", "CountVectorizer, MultinomialNB", slow, fast, rows.megabytes, case.target)
    slow, theirs = best(lambda: peer.predict(rows.texts), 1)
    times["predict"], ours = best(lambda: nb.predict(rows.texts))
    assert np.mean(ours == theirs) > 0.9999, "predictions differ"
    met &= line(title, "predict", "CountVectorizer, MultinomialNB", slow, times["predict"], rows.megabytes, case.target)
    if case.language == "zh":
        met &= beside_jieba(nb, rows, title)
    elif case.target == 20:
        text_peers.others(rows, partial(beside, rows, times, float(np.mean(ours == rows.y))))
        message_times("textbook", nb)
    return met


def text_book(words: dict[str, Any]) -> Any:
    """Return the textbook model over these words, with a prior as scikit-learn has it."""
    return nv.NaiveBayes(model="textbook", families={"text": nv.Words(**words)}, prior_smoothing=0)


def ready(nb: Any, rows: Documents) -> None:
    """Fit a model, and have it answer once: until then it has only counted."""
    nb.fit(rows.texts, rows.y).predict(rows.texts[:1])


def counting(case: Case, rows: Documents, title: str) -> bool:
    """Compare and time the matrix of counts."""
    column, theirs, peer = pa.array(rows.texts, pa.large_string()), CountVectorizer(**case.theirs), "CountVectorizer"
    slow, wanted = best(lambda: theirs.fit_transform(rows.texts), 1)
    fast, found = best(lambda: TextCounter(**case.counter).fit_transform(rows.texts))
    few = rows.texts[:2000]
    same_counts(TextCounter(**case.counter).fit(few), CountVectorizer(**case.theirs).fit(few), found, wanted)
    del found, wanted
    met = line(title, "TextCounter.fit_transform, list", peer, slow, fast, rows.megabytes, case.counting)
    fast, _ = best(lambda: TextCounter(**case.counter).fit_transform(column))
    met &= line(title, "TextCounter.fit_transform, Arrow", peer, slow, fast, rows.megabytes, case.counting)
    ours = TextCounter(**case.counter).fit(column)
    slow, _ = best(lambda: theirs.transform(rows.texts), 1)
    fast, _ = best(lambda: ours.transform(column))
    return met & line(title, "TextCounter.transform, Arrow", peer, slow, fast, rows.megabytes, case.counting)


def same_counts(ours: Any, theirs: Any, found: Any, wanted: Any) -> None:
    """Refuse to time wrong counts."""
    np.testing.assert_array_equal(ours.get_feature_names_out(), theirs.get_feature_names_out())
    wanted.sort_indices()
    assert found.shape == wanted.shape, "vocabularies differ"
    assert all(np.array_equal(getattr(found, part), getattr(wanted, part)) for part in ("indptr", "indices", "data"))


def same_answers(ours: Any, theirs: Any, texts: list[str]) -> None:
    """Refuse to time wrong answers."""
    np.testing.assert_array_equal(ours.classes_, theirs.classes_)
    found, wanted = ours.predict_log_proba(texts), theirs.predict_log_proba(texts)
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-6)
    np.testing.assert_array_equal(ours.predict(texts), theirs.predict(texts))


# -- others ------------------------------------------------------------------------------------------------------------


def beside(rows: Documents, ours: dict[str, Seconds], right: float, peer: Any) -> None:
    """Print how long another program takes for the same texts, and how often it is right about them."""
    for operation in ("fit", "predict"):
        slow, answers = best(getattr(peer, operation), 1)
        share = "" if answers is None else f", right {np.mean(answers == rows.y):.3f}, ours {right:.3f}"
        target = 3 if peer.needs == "vowpalwabbit" else None
        line(f"English, words, {rows.megabytes:.0f} MB{share}", operation, peer.title, slow, ours[operation],
             rows.megabytes, target)  # fmt: skip


def beside_jieba(nb: Any, rows: Documents, title: str) -> bool:
    """Time the words that jieba finds in fewer texts, and our characters in as many."""
    peer, few = text_peers.by_jieba(), rows.first(2)
    if peer is None:
        print(f"| {title} | fit | jieba, CountVectorizer, MultinomialNB | not installed | | | | | |")
        return True
    slow, _ = best(lambda: peer.fit(few.texts, few.y), 1)
    fast, _ = best(lambda: ready(nb, rows))
    fast = Seconds(*(part * few.megabytes / rows.megabytes for part in fast))
    return line(f"{title}, of them {few.megabytes:.0f}", "fit", "jieba, CountVectorizer, MultinomialNB", slow, fast,
                few.megabytes, 30)  # fmt: skip


def auto(rows: Documents) -> bool:
    """Time the default model beside logistic regression, both learned from 9 of 10 texts; and single messages."""
    cut = len(rows.texts) * 9 // 10
    title, learned, asked = f"English, {rows.megabytes:.0f} MB", rows.texts[:cut], rows.texts[cut:]
    peer, nb = text_peers.logistic(), nv.NaiveBayes()
    slow, _ = best(lambda: peer.fit(learned, rows.y[:cut]), 1)
    fast, _ = best(lambda: nb.fit(learned, rows.y[:cut]), 1)
    line(title, "fit, default", "tfidf, LogisticRegression", slow, fast, 0.9 * rows.megabytes, None)
    slow, theirs = best(lambda: peer.predict(asked), 1)
    fast, ours = best(lambda: nb.predict(asked))
    right = f", right {np.mean(theirs == rows.y[cut:]):.3f}, ours {np.mean(ours == rows.y[cut:]):.3f}"
    line(title + right, "predict, default", "tfidf, LogisticRegression", slow, fast, 0.1 * rows.megabytes, None)
    return message_times("default", nb)


def message_times(name: str, nb: Any) -> bool:
    """Print the median time of the answer to one short message."""
    for message in MESSAGES:
        nb.predict_proba([message])
    taken = []
    for at in range(3000):
        start = time.perf_counter()
        nb.predict_proba([MESSAGES[at % len(MESSAGES)]])
        taken.append(time.perf_counter() - start)
    median = float(np.median(taken)) * 1e6
    met = median <= 100
    print(f"| one short message | predict_proba, {name} | | | {median:.0f} µs | | | | 100 µs{'' if met else ' ✗'} |")
    return met


# -- times -------------------------------------------------------------------------------------------------------------


class Seconds(NamedTuple):
    """How long a call takes, and how much time of all CPUs: the second says more where others use them, too."""

    wall: float
    cpu: float


def best(call: Callable[[], Any], repeats: int = REPEATS) -> tuple[Seconds, Any]:
    """Return the least seconds that a call takes, and what it gives."""
    seconds, result = [], None
    for _ in range(repeats):
        result = None
        start, used = time.perf_counter(), time.process_time()
        result = call()
        seconds.append(Seconds(time.perf_counter() - start, time.process_time() - used))
    return Seconds(*map(min, zip(*seconds, strict=True))), result


def line(
    title: str, operation: str, peer: str, slow: Seconds, fast: Seconds, megabytes: float, target: float | None
) -> bool:
    """Print a line, and tell whether the target was met."""
    ratio = slow.wall / fast.wall
    asked = "" if target is None else f"{target:g}×{'' if ratio >= target else ' ✗'}"
    print(
        f"| {title} | {operation} | {peer} | {slow.wall:.2f} | {fast.wall:.2f} | {megabytes / fast.wall:.0f} | "
        f"{ratio:.1f}× | {slow.cpu / fast.cpu:.1f}× | {asked} |",
        flush=True,
    )
    return target is None or ratio >= target


if __name__ == "__main__":
    raise SystemExit(main())

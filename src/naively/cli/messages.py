"""What the library says to whoever writes Python, said to whoever writes on the command line."""

from __future__ import annotations

import re
import shlex
from ast import literal_eval
from collections.abc import Callable

# A text as Python writes it; an apostrophe within a word opens none.
TEXT = r"""(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")"""
TEXTS, PAIRS = (rf"{one}(?:, {one})*(?:, …)?" for one in (TEXT, rf"{TEXT}: {TEXT}"))


def option(name: str, values: str) -> str:
    """Return an option for each of some texts, and … where there are more."""
    each = [f"--{name} {shlex.quote(literal_eval(text))}" for text in re.findall(TEXT, values)]
    return " ".join([*each, *(["…"] if values.endswith("…") else [])])


def families(pairs: str) -> str:
    """Return an option for each column that is taken as another family."""
    found = [map(literal_eval, re.findall(TEXT, pair)) for pair in re.findall(f"{TEXT}: {TEXT}", pairs)]
    each = [f"--text {shlex.quote(c)}" if f == "words" else f"--family {shlex.quote(c)}={f}" for c, f in found]
    return " ".join([*each, *(["…"] if pairs.endswith("…") else [])])


NAMED = "model|cost|unlabelled|missing|unseen|estimate|encoding|decimal|thousands|delimiter|format|table|query"
# Settings as the library names them, and the options that stand for them; other texts stay as they were written.
OPTIONS: tuple[tuple[str, Callable[[list[str]], str]], ...] = (
    (r", or a value such as nv\.Poisson\(\)", lambda found: ""),
    (
        r"convert them to dates or texts, e\.g\. y\.dt\.date or y\.astype\(str\)",
        lambda found: "write them into the file as other texts, such as 2024 or week 7, or name another column",
    ),
    (
        r"Give the weights as a dict, such as class_weight=\{'spam': 3\.0\}",
        lambda found: "Fit all rows again with weights that are given, such as --class-weight spam=3",
    ),
    (rf"\bfamilies=\{{({PAIRS})\}}", lambda found: families(found[0])),
    (
        rf"\bfamilies=\{{({TEXT}): nv\.Ordinal\(levels=\[…\]\)\}}",
        lambda found: f"--family {shlex.quote(literal_eval(found[0]))}=ordinal:LOWEST,…,HIGHEST",
    ),
    (rf"\bcolumns=\[\.\.\.\] without ({TEXTS})", lambda found: option("ignore", found[0])),
    (rf"\bignore=\[({TEXTS})\]", lambda found: option("ignore", found[0])),
    (rf"\bnv\.File\(\.\.\., null=\[\.\.\., ({TEXTS})\]\)", lambda found: option("also-null", found[0])),
    (r"\btarget=(['\"])…['\"]", lambda found: "--target"),
    (rf"\b({NAMED})=({TEXT})", lambda found: option(*found)),
    (
        r"\b(cv|smoothing|temperature|window|limit|n_jobs|reject)=(-?\d[\d.]*)",
        lambda found: f"--{found[0].replace('_', '-')} {found[1]}",
    ),
    (r"\b(keep_counts|table|query|ignore|weight|null)=…?", lambda found: f"--{found[0].replace('_', '-')}"),
    (r"(?:nv\.fit_files\(\.\.\., )?\bnormalize_weight=(True)\)?", lambda found: "--normalize-weight"),
    (r"\bclass_weight='(balanced)'", lambda found: f"--class-weight {found[0]}"),
    (r"\b(class_weight)\b", lambda found: "--class-weight"),
    (rf"(?<!\w)({TEXT})", lambda found: found[0]),
    (r"\b([Rr]ow) (\d+)\b", lambda found: f"{found[0]} {int(found[1]) + 1}"),
)
ANY = re.compile("|".join(f"(?P<p{at}>{pattern})" for at, (pattern, _) in enumerate(OPTIONS)))


def spoken(text: str) -> str:
    r"""Return a sentence of the library with options in the place of settings, and rows counted from 1.

    >>> spoken("new.csv, row 0 has no label. Leave such rows out, or set unlabelled='skip'.")
    'new.csv, row 1 has no label. Leave such rows out, or set --unlabelled skip.'
    >>> spoken("'zip' looks like codes: families={'zip': \"categorical\"}.")
    "'zip' looks like codes: --family zip=categorical."
    >>> spoken("Row 4 holds 'row 5 limit=3', which is no number.")  # what people wrote stays as it is
    "Row 5 holds 'row 5 limit=3', which is no number."
    """
    return ANY.sub(put, text)


def put(found: re.Match[str]) -> str:
    """Return what stands in the place of a piece of a sentence."""
    pattern, said = next(one for at, one in enumerate(OPTIONS) if found[f"p{at}"] is not None)
    inner = re.fullmatch(pattern, found[0])
    return found[0] if inner is None else said(list(inner.groups()))

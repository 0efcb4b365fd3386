"""What the library says to whoever writes Python, said to whoever writes on the command line."""

from __future__ import annotations

import re
import shlex

# Settings as the library names them, and the options that stand for them.
OPTIONS = (
    (r"families=\{['\"](.+?)['\"]: ['\"]words['\"]\}", lambda m: f"--text {shlex.quote(m[1])}"),
    (r"families=\{['\"](.+?)['\"]: ['\"](\w+)['\"]\}", lambda m: f"--family {shlex.quote(m[1])}={m[2]}"),
    (r"columns=\[\.\.\.\] without ['\"](.+?)['\"](?=\W*$)", lambda m: f"--ignore {shlex.quote(m[1])}"),
    (r"target=['\"]…['\"]", lambda m: "--target"),
    (
        r"\b(model|unlabelled|missing|unseen|estimate|encoding|decimal|delimiter|format)=['\"](.+?)['\"]",
        lambda m: f"--{m[1]} {m[2]}",
    ),
    (r"\b(folds|smoothing|temperature|window|limit|threads|reject)=(\d[\d.]*)", lambda m: f"--{m[1]} {m[2]}"),
    (r"\bkeep_counts=", lambda m: "--keep-counts"),
    (r"\btable=['\"](.+?)['\"]", lambda m: f"--table {m[1] if m[1] == '…' else shlex.quote(m[1])}"),
    (r"\b(table|query|types|ignore|weight|null)=", lambda m: f"--{m[1]}"),
)


def spoken(text: str) -> str:
    r"""Return a sentence of the library with options in the place of settings, and rows counted from 1.

    >>> spoken("new.csv, row 0 has no label. Leave such rows out, or set unlabelled='skip'.")
    'new.csv, row 1 has no label. Leave such rows out, or set --unlabelled skip.'
    >>> spoken("'zip' looks like codes: families={'zip': \"categorical\"}.")
    "'zip' looks like codes: --family zip=categorical."
    """
    for pattern, option in OPTIONS:
        text = re.sub(pattern, option, text)
    return re.sub(r"\b([Rr]ow) (\d+)\b", lambda m: f"{m[1]} {int(m[2]) + 1}", text)

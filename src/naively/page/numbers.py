"""Numbers as people read them: probabilities in percent, true minus signs, counts with separators."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from math import isfinite, isnan

MINUS = "\N{MINUS SIGN}"


def probability_text(p: float, digits: int = 1) -> str:
    """Return a probability in percent; one that would be rounded to 0 or 100 has a bound instead.

    Exactly 0 and 1 are "0 %" and "100 %".

    >>> [probability_text(p) for p in (0.338, 1 - 3.5e-9, 3.5e-9, 0.0, 1.0)]
    ['33.8 %', '> 99.9 %', '< 0.1 %', '0 %', '100 %']
    """
    if isnan(p):
        return "–"
    if p in (0.0, 1.0):
        return f"{p:.0%}".replace("%", " %")
    step = 10.0**-digits
    text = f"{100 * p:.{digits}f}"
    if float(text) == 0:
        return f"< {step:.{digits}f} %"
    return f"> {100 - step:.{digits}f} %" if float(text) >= 100 else f"{text} %"


def probability_texts(probabilities: Sequence[float], digits: int = 1) -> list[str]:
    """Return the probabilities of all classes; one is "100 %" only where all others are exactly 0.

    >>> probability_texts([1.0, 1e-20])
    ['> 99.9 %', '< 0.1 %']
    """
    open_ended = sum(p > 0 for p in probabilities) > 1
    below_one = 1 - 2.0**-53
    return [probability_text(min(p, below_one) if open_ended else p, digits) for p in probabilities]


def signed(value: float, digits: int = 2) -> str:
    """Return a number with its sign, a true minus; "+∞" and "−∞", an empty text for NaN, no sign for what rounds to 0.

    >>> [signed(x) for x in (0.3, -0.668, float("-inf"), -0.001)]
    ['+0.30', '−0.67', '−∞', '0.00']
    """
    if isnan(value):
        return ""
    if not isfinite(value):
        return "+∞" if value > 0 else f"{MINUS}∞"
    text = f"{value:+.{digits}f}"
    return text[1:] if float(text) == 0 else with_true_minus(text)


def number_text(value: float, digits: int = 4) -> str:
    """Return a number with `digits` significant digits and a true minus.

    >>> [number_text(x) for x in (-1234.56, 0.000123456, 44.0, -0.0)]
    ['−1235', '0.0001235', '44', '0']
    """
    if isnan(value):
        return ""
    if not isfinite(value):
        return "∞" if value > 0 else f"{MINUS}∞"
    text = f"{value + 0.0:.{digits}g}"  # no minus before zero
    if "e+" in text and abs(value) < 1e9:
        text = f"{float(text):.0f}"
    return with_true_minus(text)


def date_text(seconds: float) -> str:
    """Return the day of a time that is given as seconds since 1970.

    >>> date_text(0.0)
    '1970-01-01'
    """
    return str(datetime.date(1970, 1, 1) + datetime.timedelta(days=seconds // 86400))


def count_text(n: float) -> str:
    """Return a number of rows, which weights may make fractional.

    >>> [count_text(n) for n in (24720, 12.5, 1e6)]
    ['24,720', '12.5', '1,000,000']
    """
    if not isfinite(n):
        return number_text(n)
    whole = round(n)
    if abs(n - whole) <= 1e-9 * max(1.0, abs(n)):
        return with_true_minus(f"{whole:,}")
    return with_true_minus(f"{n:,.1f}" if abs(n) >= 1000 else f"{n:.4g}")


def counted(n: float, noun: str, plural: str | None = None) -> str:
    """Return a number with the thing it counts, in the plural unless it is one.

    >>> counted(1, "row"), counted(344, "row"), counted(2, "class", "classes")
    ('1 row', '344 rows', '2 classes')
    """
    return f"{count_text(n)} {noun if n == 1 else plural or noun + 's'}"


def with_true_minus(text: str) -> str:
    """Return a formatted number whose hyphens are minus signs.

    >>> with_true_minus("-1.5e-07")
    '−1.5e−07'
    """
    return text.replace("-", MINUS)

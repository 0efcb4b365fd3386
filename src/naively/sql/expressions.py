"""Numbers of a database as the kernels count them: float64, their bins, and their levels on the scale of a grid.

Literals are written as ratios of whole numbers. A database reads those exactly, but reads 0.30000000000000004 as a
decimal number that it converts, and may be off by the last bit: a number on a cut would fall into another bin.
"""

from __future__ import annotations

from collections.abc import Sequence

from .._kernels import LARGEST_NUMBER
from ..data.grid import LEVEL_STEPS, NumberBins
from .engine import IbisValue, call_builtin, engine_name, ibis_module

# To add this and take it away again rounds a smaller number to the next whole one, halves to even ones, as the kernels
# do. The functions `round` of databases do not agree on halves.
ROUNDING = 3 * 2**51
# The largest power of 2 that every database holds as a whole number.
POWER = 62


def exact_literal(number: float) -> IbisValue:
    """Return a number as a literal of exactly this value."""
    ibis = ibis_module()
    over, under = float(number).as_integer_ratio()
    twos = max(over.bit_length() - POWER, 0)
    below = under.bit_length() - 1
    found = ibis.literal(over >> twos, type="int64").cast("float64")
    for exponent, power in ((twos, 1), (below, -1)):
        while exponent > 0:
            part = ibis.literal(1 << min(exponent, POWER), type="int64").cast("float64")
            found = found * part if power > 0 else found / part
            exponent -= POWER
    return found


def number_of_cell(table: IbisValue, name: str) -> IbisValue:
    """Return a column as float64: times in seconds since 1970 (UTC), or since midnight."""
    cell, engine = table[name], engine_name(table)
    kind = cell.type()
    if kind.is_temporal():
        return seconds_of(cell, engine)
    number = cell if kind.is_float64() else cell.cast("float64")
    if engine == "sqlite":  # where a column of numbers may hold texts, which a cast would call 0
        return ibis_module().ifelse(cell.typeof().isin(["integer", "real"]), number, None)
    return number


def seconds_of(cell: IbisValue, engine: str) -> IbisValue:
    """Return times as seconds with their fraction."""
    if engine == "duckdb":
        unit = "epoch_ns" if getattr(cell.type(), "scale", None) == 9 else "epoch_us"
        return call_builtin(unit, [cell], "int64").cast("float64") / (1e9 if unit == "epoch_ns" else 1e6)
    if engine == "postgres":  # seconds with a fraction, whatever type Ibis expects
        return call_builtin("date_part", [ibis_module().literal("epoch"), cell], "float64")
    if engine == "sqlite":
        return sqlite_seconds(cell)
    if cell.type().is_date():
        return cell.epoch_days().cast("float64") * 86_400
    return (cell.epoch_seconds().cast("int64") * 1_000_000 + cell.microsecond()).cast("float64") / 1e6


def sqlite_seconds(cell: IbisValue) -> IbisValue:
    """Return times of SQLite, which are texts such as "2024-05-01 10:00:00.25+02:00", as seconds.

    Its own functions round to milliseconds, so that whole seconds and the fraction are read apart.
    """
    literal = ibis_module().literal
    rest = call_builtin("substr", [cell, literal(20)], "string")
    zone = call_builtin("ltrim", [rest, literal(".0123456789")], "string")
    start = call_builtin("substr", [cell, literal(1), literal(19)], "string")
    whole = call_builtin("strftime", [literal("%s"), start + zone], "string").cast("int64")
    micros = ((literal("0") + rest).cast("float64") * 1e6).round()  # a cast reads the digits, and stops at a zone
    return (whole * 1_000_000 + micros).cast("float64") / 1e6


def finite_number(number: IbisValue) -> IbisValue:
    """Return a number, NULL where it is missing, NaN, infinite, or too large to be squared and summed."""
    low, high = (ibis_module().literal(bound).cast("float64") for bound in (-LARGEST_NUMBER, LARGEST_NUMBER))
    return ibis_module().ifelse((number >= low) & (number <= high), number, None)


def number_without_nan(number: IbisValue, engine: str) -> IbisValue:
    """Return a number, NULL where it is NaN; SQLite holds no NaN."""
    return number if engine == "sqlite" else ibis_module().ifelse(number.isnan(), None, number)


def bin_of_number(number: IbisValue, cuts: Sequence[float]) -> IbisValue:
    """Return the bin of a number, by binary search: how many cuts lie below it; NULL where there is none."""
    ibis = ibis_module()

    def search(low: int, high: int) -> IbisValue:
        if low == high:
            return ibis.literal(low, type="int32")
        middle = (low + high) // 2
        return ibis.ifelse(number <= exact_literal(cuts[middle]), search(low, middle), search(middle + 1, high))

    return ibis.ifelse(number.isnull(), None, search(0, len(cuts)))


def steps_of_number(number: IbisValue, bins: NumberBins) -> IbisValue:
    """Return where a number lies on the common scale, in whole steps; NULL where there is none."""
    ibis, scale = ibis_module(), bins.scale * LEVEL_STEPS
    low, high = (round((bound - bins.center) * scale) for bound in (bins.low, bins.high))
    rounding = exact_literal(ROUNDING)
    level = (number - exact_literal(bins.center)) * exact_literal(scale) + rounding - rounding
    clipped = ibis.ifelse(number > exact_literal(bins.high), exact_literal(high), level)
    return ibis.ifelse(number < exact_literal(bins.low), exact_literal(low), clipped)

"""The columns of a flat model while it is made: how cells become codes, levels or words, and the tables that add up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime

import numpy as np

from .._types import Codes, Floats, Json, JsonObject, Label, Places, Singles
from ..data.cell_format import exact_names
from ..data.column import Column
from ..errors import InvalidInput
from ..families import Bernoulli, Bins, Likelihood
from ..families.bernoulli import FlagLikelihood
from ..families.family import TextTerm
from ..families.gaussian import GaussianLikelihood
from ..families.poisson import PoissonLikelihood, estimated_rate, rate_posterior
from ..families.wide import Split, WideLikelihood
from ..model.column_parts import RARE, LabelColumn
from ..model.default.grid import LEVEL_STEPS, NumberBins
from ..model.default.likelihoods import LEAST_SCORE, WeightedTextTerm
from ..model.default.words import WordScores
from ..model.table_model import TableModel
from ..text.tokens import Tokens


def relative(table: Floats | Singles) -> Floats:
    """Return scores [..., class] relative to the first class, which is omitted; whole if some are infinite.

    Only differences between classes matter.
    """
    table = np.asarray(table, dtype=np.float64)
    return table[..., 1:] - table[..., :1] if np.isfinite(table).all() else table


def contributes(table: Floats | Singles) -> bool:
    """Tell whether scores [..., class] differ between classes anywhere."""
    return bool(table.size) and bool((table != table[..., :1]).any())


@dataclass
class FlatColumn:
    """A column while its terms are collected: how its cells are read, and what each of its codes contributes.

    The last code is that of values never seen, or of missing numbers; where it contributes nothing, it is omitted.
    """

    fields: JsonObject
    table: Floats  # [code, class]
    labels: Codes = field(default_factory=lambda: np.zeros(0, dtype=np.int32))  # each code as the model numbers labels
    pair_codes: Codes | None = None  # each code as tables of pairs number it, -1 for none
    triple_codes: Codes | None = None  # the same for tables of triples
    terms: list[JsonObject] = field(default_factory=list)  # all terms but the table

    def add(self, kind: str, **fields: Json) -> None:
        """Add a term of this column alone."""
        self.terms.append({"kind": kind} | fields)

    def add_labels(self, table: Floats) -> None:
        """Add a table [label, class]; labels beyond its end contribute nothing."""
        lines = np.vstack([table, np.zeros((1, table.shape[1]))])
        self.table += lines[np.minimum(self.labels, len(table))]

    def add_missing(self, table: Floats) -> None:
        """Add a table [whether a number is missing, class]."""
        self.table[:-1] += table[0]
        self.table[-1] += table[1]

    def add_density(self, likelihood: Likelihood, weight: float) -> None:
        """Add the log density of a column of numbers, times a weight."""
        if isinstance(likelihood, GaussianLikelihood):  # normal or Student-t; of equal numbers it contributes nothing
            center, precision, power, base = (np.array(part[0], dtype=np.float64) for part in likelihood.density)
            if precision.any() or (base != base[0]).any():
                precision = precision if power.any() else weight * precision
                self.add("density", table=np.column_stack([center, precision, weight * power, weight * base]))
        elif isinstance(likelihood, PoissonLikelihood):
            self._add_poisson(likelihood, weight)
        else:
            name = self.fields["name"]
            raise InvalidInput(f"Column {name!r} has a density that a flat model cannot hold.", column=name)

    def _add_poisson(self, likelihood: PoissonLikelihood, weight: float) -> None:
        """Add the distribution of numbers of events."""
        smoothing = likelihood.settings.column_smoothing
        estimate = likelihood.settings.estimate if smoothing > 0 else "mle"
        if estimate == "bayes":
            posterior = rate_posterior(likelihood.summary, smoothing)
            events, rows = (np.broadcast_to(part, likelihood.summary.n.shape)[0] for part in posterior)
            self.add("negative binomial", table=np.column_stack([np.full(len(events), weight), events, rows]))
            return
        rate: Floats = np.array(estimated_rate(estimate, likelihood.summary, smoothing)[0])
        with np.errstate(divide="ignore"):  # a class without any event is ruled out by one
            log_rate = np.log(rate)
        log_rate = log_rate if weight > 0 else np.maximum(log_rate, LEAST_SCORE)  # a weight below 0 makes it certain
        self.add("poisson", table=np.column_stack([np.full(len(rate), weight), rate, log_rate]))

    def set_pair_codes(self, of_labels: Sequence[int]) -> None:
        """Set the code in tables of pairs of each label, or of each bin of a number."""
        lookup = np.array([*of_labels, -1], dtype=np.int32)
        codes = self.labels if len(self.labels) else np.arange(len(self.table))
        self.pair_codes = lookup[np.minimum(codes, len(lookup) - 1)]

    def set_triple_codes(self, of_pair_codes: Codes) -> None:
        """Set the code in tables of triples of each code in tables of pairs."""
        self.triple_codes = np.append(of_pair_codes, np.int32(-1))[self.pair_codes]

    def finished(self, place: int, scale: float) -> tuple[JsonObject, list[JsonObject]]:
        """Return how cells are read and the terms of the column, by its place among all."""
        fields, table, last = dict(self.fields), self.table, len(self.table) - 1
        if len(table) and not contributes(table[last:]):
            table = table[:last]
            fields |= {name: -1 for name in ("missing", "unseen") if fields.get(name) == last}
        for name, codes in (("pair_codes", self.pair_codes), ("triple_codes", self.triple_codes)):
            if codes is not None and not np.array_equal(codes[: len(table)], np.arange(len(table))):
                fields[name] = codes[: len(table)]
        terms = [{"kind": term["kind"], "columns": [place]} | term for term in self.terms]
        if contributes(table):
            terms.insert(0, {"kind": "table", "columns": [place], "table": relative(scale * table)})
        return fields, terms


# -- how cells are read ------------------------------------------------------------------------------------------------


def label_json(label: Label) -> Json:
    """Return a label as JSON has it: its text, where JSON has no such type."""
    if isinstance(label, np.generic):
        label = label.item()
    if label is None or isinstance(label, (str, bool, int)) or (isinstance(label, float) and np.isfinite(label)):
        return label
    return label.isoformat() if isinstance(label, (date, datetime)) else str(label)


def table_columns(model: TableModel, bins: Mapping[str, NumberBins]) -> dict[str, FlatColumn]:
    """Return the columns of numbers and labels in use, without terms; some numbers have bins."""
    labels = {column.column.name: column for column in model.labels}
    summaries, columns = model.number_summaries, dict[str, FlatColumn]()
    for column in model.schema:
        if column.name in labels:
            columns[column.name] = _label_column(labels[column.name], len(model.classes))
        elif column.name in summaries:
            columns[column.name] = _number_column(column, bins.get(column.name), summaries[column.name])
    return columns


def _label_column(labels: LabelColumn, classes: int) -> FlatColumn:
    """Return a column of labels; numbers that are counted as labels, by bins or a threshold, are read as numbers."""
    column, codes = labels.column, labels.places
    if isinstance(column.family, Bins):
        return _binned_column(labels, column.family.cuts or (), range(len(column.family.cuts or ()) + 1), classes)
    if isinstance(column.family, Bernoulli) and column.type != "boolean":
        return _binned_column(labels, (column.family.threshold or 0.0,), (False, True), classes)
    codes = {label: code for label, code in codes.items() if label is not None and label is not RARE}
    fields: JsonObject = {
        "name": column.name,
        "kind": "label",
        "type": "text" if column.type == "empty" else column.type,
        "values": [label_json(label) for label in codes],
        "missing": labels.places[None],
        "unseen": labels.unseen,
    }
    if list(codes.values()) != list(range(len(codes))):
        fields["codes"] = np.array(list(codes.values()), dtype=np.int32)
    if labels.settings.unseen == "error":
        fields["refuses"] = "unseen"
    if names := exact_names(column.written):
        fields["no_value"] = list(names)
    return FlatColumn(fields, np.zeros((labels.unseen + 1, classes)), np.arange(labels.unseen + 1, dtype=np.int32))


def _binned_column(labels: LabelColumn, cuts: Sequence[float], bins: Sequence[Label], classes: int) -> FlatColumn:
    """Return a column of numbers that are counted by their bins, shown in a range that reaches beyond all cuts."""
    low, high = 0.0, 1.0
    if cuts:
        beyond = (cuts[-1] - cuts[0]) / (len(cuts) - 1) if len(cuts) > 1 else max(abs(cuts[0]), 1.0)
        low, high = float(cuts[0] - beyond), float(cuts[-1] + beyond)
    codes, missing = [labels.places.get(label, labels.unseen) for label in bins], labels.places[None]
    fields = _number_fields(labels.column, cuts, low, high) | {"missing": -1 if missing < 0 else len(codes)}
    codes.append(labels.unseen + 1 if missing < 0 else missing)
    return FlatColumn(fields, np.zeros((len(codes), classes)), np.array(codes, dtype=np.int32))


def _number_column(column: Column, bins: NumberBins | None, summary: tuple[Floats, Floats, Floats]) -> FlatColumn:
    """Return a column of numbers; it has a level if it has bins."""
    n, mean, ssd = summary
    if bins is not None:
        fields = _number_fields(column, bins.cuts, bins.low, bins.high)
        fields |= {"center": bins.center, "steps": bins.scale * LEVEL_STEPS}
    else:  # three standard deviations around the mean of each class, together
        low, high, there = 0.0, 1.0, n > 0
        if there.any():
            far = 3 * np.sqrt(ssd[there] / n[there])
            low, high = float((mean[there] - far).min()), float((mean[there] + far).max())
        fields = _number_fields(column, (), *((low, high) if low < high else (low - 1.0, high + 1.0)))
    size = len(fields["cuts"]) + 1
    if column.family.name == "poisson":
        fields["refuses"] = "negative"
    return FlatColumn(fields | {"missing": size}, np.zeros((size + 1, len(n))))


def _number_fields(column: Column, cuts: Sequence[float], low: float, high: float) -> JsonObject:
    """Return how the cells of a column of numbers are read."""
    kind = {"name": column.name, "kind": "number", "type": "number" if column.type == "empty" else column.type}
    levels = {"center": 0.0, "steps": 0.0, "cuts": np.array(cuts, dtype=np.float64)}
    return kind | {"low": low, "high": high} | levels


# -- texts -------------------------------------------------------------------------------------------------------------


def text_column(model: TableModel, name: str, scale: float, most: int | None) -> FlatColumn:
    """Return a column of texts with its terms, and its most frequent words."""
    column, term = model.schema[name], model.text_terms()[name]
    # A word that no text holds contributes nothing to word scores, and does not count for the length of a text either.
    places = np.flatnonzero(term.known) if isinstance(term, WordScores) else np.arange(len(term.words))
    kept = places
    if most is not None and most < len(places):
        texts = model.words[name].documents[term.words.numbers]
        kept = np.sort(places[np.argsort(-texts[places], kind="stable")[:most]])
    words = term.words.lexicon.names(term.words.numbers[kept])
    fields: JsonObject = {"name": name, "kind": "text", "type": "text", "words": words}
    fields |= {"left_out": len(places) - len(kept)} | token_rules(model.readers[name].tokens)
    if names := exact_names(column.written):
        fields["no_value"] = list(names)
    flat = FlatColumn(fields, np.zeros((0, len(model.classes))))
    _add_words(flat, kept, term, scale)
    return flat


def _add_words(column: FlatColumn, kept: Places, term: TextTerm, factor: float) -> None:
    """Add a term of words, times a factor, for the words that are kept."""

    def add_table(scaling: str, table: Floats, **more: Json) -> None:
        if len(kept) and (contributes(table) or "constant" in more):
            column.add("words", scaling=scaling, **more, table=relative(table[kept]))

    if isinstance(term, WordScores):
        add_table("length", factor * term.word_scores.astype(np.float64), times="once")
    elif isinstance(term, WeightedTextTerm):
        _add_words(column, kept, term.term, factor * term.weight)
    elif isinstance(term, FlagLikelihood):
        present, absent = Split.of(term.log_there), Split.of(term.log_absent)
        change, constant = factor * (present.finite - absent.finite).T, factor * absent.finite.sum(axis=1)
        add_table("none", change, times=term.times, constant=constant)
        if present.ruled_out.any() or absent.ruled_out.any():
            # How often log 0 is added to a class: for each word that is absent, which those that are there take back.
            zeros = (present.ruled_out - absent.ruled_out).T[kept]
            constant = absent.ruled_out.sum(axis=1)
            column.add("ruled out", scaling="none", times="once", constant=constant, table=zeros)
    elif isinstance(term, WideLikelihood):  # each word as often as it counts
        table = term.each if term.idf is None else term.each * term.idf[:, None]
        add_table("none", factor * table, times=term.times)
    else:
        name = column.fields["name"]
        raise InvalidInput(f"Column {name!r} has a term of words that a flat model cannot hold.", column=name)


# -- how a text becomes words ------------------------------------------------------------------------------------------


# Chinese and Japanese: ideographs, hiragana, katakana, and signs that stand among them.
CJK = """
3005-3007 3021-3029 3031-3035 3038-303C 3041-30FF 31F0-31FF 3400-4DBF 4E00-9FFF F900-FAFF FF66-FF9F 1AFF0-1AFFF
1B000-1B16F 20000-323AF
"""
# Scripts of South East Asia that put no spaces between words, and emoji: as in native/unicode/generate.py.
UNSPACED = """
0E01-0E3A 0E40-0E4E 0E81-0EBD 0EC0-0ECE 0EDC-0EDF 1000-103F 1050-108F 109A-109F 1780-17D3 17D7 17DC-17DD 1950-1974
1980-19C9 19DE-19DF 1A20-1A7C 1AA0-1AAD A9E0-A9EF A9FA-A9FE AA60-AADF 11700-1172B 1173A-1173B 1173F-11746
"""
EMOJI = """
231A-231B 23E9-23EC 23F0 23F3 25FD-25FE 2600-2604 260E 2611 2614-2615 2618 261D 2620 2622-2623 2626 262A 262E-262F
2638-263A 2640 2642 2648-2653 265F-2660 2663 2665-2666 2668 267B 267E-267F 2692-2697 2699 269B-269C 26A0-26A1 26A7
26AA-26AB 26B0-26B1 26BD-26BE 26C4-26C5 26C8 26CE-26CF 26D1 26D3-26D4 26E9-26EA 26F0-26F5 26F7-26FA 26FD 2702 2705
2708-270D 270F 2712 2714 2716 271D 2721 2728 2733-2734 2744 2747 274C 274E 2753-2755 2757 2763-2764 2795-2797 27A1 27B0
27BF 2B1B-2B1C 2B50 2B55 1F004 1F02C-1F02F 1F094-1F09F 1F0AF-1F0B0 1F0C0 1F0CF-1F0D0 1F0F6-1F0FF 1F170-1F171
1F17E-1F17F 1F18E 1F191-1F19A 1F1AF-1F1E5 1F201-1F20F 1F21A 1F22F 1F232-1F23A 1F23C-1F23F 1F249-1F25F 1F266-1F321
1F324-1F393 1F396-1F397 1F399-1F39B 1F39E-1F3F0 1F3F3-1F3F5 1F3F7-1F4FD 1F4FF-1F53D 1F549-1F54E 1F550-1F567
1F56F-1F570 1F573-1F57A 1F587 1F58A-1F58D 1F590 1F595-1F596 1F5A4-1F5A5 1F5A8 1F5B1-1F5B2 1F5BC 1F5C2-1F5C4 1F5D1-1F5D3
1F5DC-1F5DE 1F5E1 1F5E3 1F5E8 1F5EF 1F5F3 1F5FA-1F64F 1F680-1F6C5 1F6CB-1F6D2 1F6D5-1F6E5 1F6E9 1F6EB-1F6F0 1F6F3-1F6FF
1F7DC-1F7F0 1F80C-1F80F 1F848-1F84F 1F85A-1F85F 1F888-1F88F 1F8AE-1F8AF 1F8BC-1F8BF 1F8C2-1F8CF 1F8D9-1F8FF 1F90C-1F93A
1F93C-1F945 1F947-1F9FF 1FA58-1FA5F 1FA6E-1FAFF 1FC00-1FFFD
"""
WORD = r"\p{L}\p{N}_"  # within brackets
MARK = r"[\p{M}]"
JOINER = "[\u200c\u200d]"
SELECTORS = "[\ufe00-\ufe0f\U000e0100-\U000e01ef]"
STACKERS, AM = "\u1039\u17d2\u1a60", "\u0e33\u0eb3"  # signs that put the next letter below, and the vowel am
KEYCAP = "\ufe0f?\u20e3"
NOTHING = "(?!)"


def characters(ranges: str) -> str:
    """Return ranges such as 2600-2604 as they stand within the brackets of a regular expression."""
    bounds = (part.split("-") for part in ranges.split())
    return "".join("-".join(chr(int(code, 16)) for code in ends) for ends in bounds)


def token_rules(tokens: Tokens) -> JsonObject:
    """Return how a text is split: the fields of a column of texts."""
    rules: JsonObject = {"unit": tokens.unit, "lowercase": bool(tokens.lowercase), "ngrams": list(tokens.ngram_range)}
    if tokens.unit != "words":
        rules |= {"pattern": NOTHING, "cluster": NOTHING, "remove": NOTHING}
    elif tokens.rules == "unicode":
        rules |= unicode_rules(tokens.cjk == "pairs")
    else:
        rules |= python_rules(tokens.cjk == "pairs", tokens.marks)
    return rules | {"stop_words": list(tokens.stop_words)}


def python_rules(pairs: bool, marks: bool) -> JsonObject:
    """Return letters, digits and underscores as words; of marks, whether they belong to their letter."""
    unspaced = characters(CJK) if pairs else ""
    letter = f"(?![{unspaced}])[{WORD}]" if pairs else f"[{WORD}]"
    cluster = f"(?=[{WORD}])[{unspaced}]" + f"{MARK}*" * marks if pairs else NOTHING
    word = f"{letter}(?:{letter}|{MARK})+" if marks else f"(?:{letter}){{2,}}"
    return {"pattern": f"((?:{cluster})+)|{word}", "cluster": cluster, "remove": NOTHING}


def unicode_rules(pairs: bool) -> JsonObject:
    """Return words with their marks and joiners, emoji, and letters of scripts without spaces."""
    unspaced, clusters = characters(CJK) + characters(UNSPACED), characters(UNSPACED)
    letter = f"(?![{unspaced}])[{WORD}]" if pairs else f"[{WORD}]"
    first = f"(?=[{WORD}])[{unspaced}]"
    below = f"[{STACKERS}](?:{JOINER}*(?=[{WORD}])[{clusters}])?"
    cluster = f"{first}(?:{below}|{MARK}|[{AM}]|{JOINER}+(?={MARK}|{first}))*" if pairs else NOTHING
    sign = f"(?:[{characters(EMOJI)}]|(?:\u2139|(?![{WORD}\\p{{M}}\\s\u200c\u200d])[\u0080-\u3299])(?=\ufe0f))"
    more = f"[\\p{{M}}{characters('1F3FB-1F3FF E0020-E007F')}]*"
    emoji = f"{sign}{more}(?:\u200d(?:{sign}|[\u2194\u2195]){more})*"
    flag, key = f"[{characters('1F1E6-1F1FF')}]{{2}}", f"[0-9#*](?={KEYCAP}){more}"
    # A word has two characters or more, not counting joiners and selectors; the digit of a keycap is not one.
    next_letter = f"(?![0-9]{KEYCAP}){letter}"
    second = f"(?:{JOINER}|{SELECTORS})*(?:{next_letter}|(?!{SELECTORS}){MARK})"
    word = f"{letter}(?={second})(?:{next_letter}|{MARK}|{JOINER}+(?={MARK}|{letter}))*"
    pattern = f"((?:{cluster})+)|{emoji}|{flag}|{key}|{word}"
    return {"pattern": pattern, "cluster": cluster, "remove": SELECTORS}

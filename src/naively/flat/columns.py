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
from .token_rules import token_rules


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

"""Pages of real models, made of plain values as the estimator hands them over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import naively as nv
from naively.estimator.reports import information_of_columns
from naively.estimator.uncertainty import held_out_quality
from naively.flat.flattening import flat_model
from naively.page.column_facts import column_facts
from naively.page.page_data import PageData
from naively.page.quality import quality_data
from naively.page.report_rows import ReportRows, places_of_report_rows
from naively.page.row_explanation import row_explanation, typical_row
from naively.page.word_facts import word_facts

# Beside the repository, or beside a folder that holds it.
SHARED = next((one / "shared" / "data" for one in Path(__file__).resolve().parents if (one / "shared").is_dir()), None)
EXAMPLES = Path(__file__).parents[1] / "examples"


def shared_table(name: str, **options: Any) -> pd.DataFrame:
    """Return a table of the shared data; the test is skipped where there is none."""
    if SHARED is None or not (SHARED / name).exists():
        pytest.skip("needs the data sets of ../shared/data beside the repository")
    return pd.read_csv(SHARED / name, **options)


def penguin_table() -> pd.DataFrame:
    """Return the penguins of the examples."""
    return pd.read_csv(EXAMPLES / "penguins.csv")


def plain(cell: Any) -> Any:
    """Return a cell as JSON has it."""
    if cell is None or cell != cell:
        return None
    return cell.item() if isinstance(cell, np.generic) else cell


def held_rows(nb: nv.NaiveBayes, table: pd.DataFrame, target: str, most: int) -> ReportRows:
    """Return the rows of a table that a report holds."""
    labels = list(nb.classes_)
    truth = np.array([labels.index(label) for label in table[target]])
    cells = table.drop(columns=target)
    at = places_of_report_rows(nb.predict_proba(cells), truth, most)
    columns = {name: [plain(cell) for cell in cells[name].iloc[at].astype(object)] for name in cells}
    return ReportRows(columns, truth[at].tolist(), (at + 1).tolist(), len(table), "table.csv", True)


def page_data(nb: nv.NaiveBayes, table: pd.DataFrame | None = None, target: str = "", **more: Any) -> PageData:
    """Return what a page of a model shows, with some rows of a table."""
    fitted = nb.fitted_
    facts = column_facts(fitted.model, fitted.all_counts, information_of_columns(fitted))
    most = more.pop("rows", 30)
    rows = None if table is None or not most else held_rows(nb, table, target, most)
    cells = typical_row(facts, nb.flat().to_json()) if rows is None else rows.row(0)
    quality = held_out_quality(fitted)
    given = {
        "flat": flat_model(fitted.model, words=more.pop("most_words", None)).to_json(single=True),
        "columns": facts,
        "class_rows": fitted.all_counts.rows.tolist(),
        "title": "m.parquet",
        "version": nv.__version__,
        "quality": None if quality is None else quality_data(quality),
        "rows": rows,
        "first": row_explanation(cells, nb.explain(cells)),
        "words": word_facts(fitted.model),
    }
    return PageData(**(given | more))

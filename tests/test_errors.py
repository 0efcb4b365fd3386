"""Errors are values: fields say what and where, and Python and the command line write the same error in their words."""

import copy
import pickle

import numpy as np
import pytest
from click.testing import CliRunner

import naively as nv
from naively import errors
from naively.cli import main
from naively.cli.exits import OPTIONS, command_text
from naively.errors.message import (
    ANY_VALUE,
    OPEN_LEVELS,
    IgnoredColumns,
    Message,
    MissingTexts,
    PythonOnly,
    RowNumber,
    Setting,
)

ERRORS = [
    errors.NotASubset("age", "spam", 3, 1.0, 2.0),
    errors.NumberTooLarge("age", 1e200),
    errors.RowRefused(3, "age", "nan", "only numbers can be counted."),
    errors.IncompatibleCounts("Counts of 2 and of 3 columns cannot be combined."),
    errors.InvalidInput(RowNumber(np.int64(3)), " has no label.", column="y", classes=["a", "b"]),
    errors.InvalidSetting(Setting("smoothing", -1), " must be finite and not negative."),
    errors.UnreadableFile("model.parquet", "there is no such file; check the path."),
    errors.UnwritableFile("model.parquet", "its folder does not exist; create it, or choose another."),
    errors.UnreadableRows(
        "rows.csv", 7, Message("give ", Setting("encoding", "gb18030")), row=5, column="x", value="?"
    ),
]
# Cells, labels and names of columns that look like words of the library, or like parts of a template.
ODD = ["row 5 limit=3", "Row 0", "threads=2", "--x", "50 %s", "{row}", "{0!r}", "unseen='skip'", "nv.File(...)", "{"]


@pytest.mark.parametrize("again", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy, copy.deepcopy])
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_survive_pickling_and_copying(error, again):
    found = again(error)
    assert type(found) is type(error)
    assert str(found) == str(error)
    assert found.message.parts == error.message.parts
    assert vars(found) == vars(error)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_are_value_errors(error):
    assert isinstance(error, ValueError)
    assert isinstance(error, errors.NaivelyError)


def test_a_subtraction_names_the_place():
    error = errors.NotASubset(None, "spam", "cheap", 1.0, 2.0).in_column("body")
    assert str(error) == (
        "Cannot subtract rows that were never counted: at column 'body', class 'spam', value 'cheap' the count is 1, "
        "and 2 would be subtracted. Nothing was changed; check which rows are meant."
    )
    assert (error.column, error.label, error.value, error.counted, error.taken) == ("body", "spam", "cheap", 1.0, 2.0)


# -- parts -------------------------------------------------------------------------------------------------------------

WRITTEN = {
    "row": (RowNumber(3), "Row 3", "Row 4"),
    "row of a file": (RowNumber(3, "a.csv"), "a.csv, row 3", "a.csv, row 4"),
    "text": (Setting("unseen", "skip"), "unseen='skip'", "--unseen skip"),
    "whole": (Setting("limit", 3), "limit=3", "--limit 3"),
    "float": (Setting("smoothing", 0.5), "smoothing=0.5", "--smoothing 0.5"),
    "name": (Setting("keep_counts"), "keep_counts", "--keep-counts"),
    "any": (Setting("table", ANY_VALUE), "table=…", "--table"),
    "flag": (Setting("normalize_weight", True, of="nv.fit_files(...)"), "nv.fit_files(..., normalize_weight=True)",
             "--normalize-weight"),
    "no flag": (Setting("complement", False), "complement=False", "no --complement"),
    "of a family": (Setting("bins", 1, of="Bins()"), "Bins(bins=1)", "Bins(bins=1)"),
    "without an option": (Setting("max_categories", 0), "max_categories=0", "max_categories=0"),
    "shell": (Setting("encoding", "a b"), "encoding='a b'", "--encoding 'a b'"),
    "weights": (Setting("class_weight", {"spam": 3.0}), "class_weight={'spam': 3.0}", "--class-weight spam=3"),
    "costs": (Setting("cost", {("bad", "good"): 5}), "cost={('bad', 'good'): 5}", "--cost bad,good=5"),
    "families": (Setting("families", {"a b": "categorical", "c": "words"}, more=True),
                 "families={'a b': 'categorical', 'c': 'words', …}", "--family 'a b'=categorical --text c …"),
    "levels": (Setting("families", {"grade": OPEN_LEVELS}), "families={'grade': nv.Ordinal(levels=[…])}",
               "--family grade=ordinal:LOWEST,…,HIGHEST"),
    "ignored": (IgnoredColumns(["a", "b c"], more=True), "columns=[...] without 'a', 'b c', …",
                "--ignore a --ignore 'b c' …"),
    "missing": (MissingTexts(["-"]), "nv.File(..., null=[..., '-'])", "--also-null -"),
    "python": (PythonOnly("X.toarray()"), "X.toarray()", ""),
}  # fmt: skip


@pytest.mark.parametrize("name", WRITTEN)
def test_python_and_the_command_line_write_a_part_in_their_own_ways(name):
    part, python, command = WRITTEN[name]
    message = Message(part)
    assert (str(message), command_text(message)) == (python, command)
    assert str(Message.from_json(message.to_json())) == python
    assert command_text(Message.from_json(message.to_json())) == command


def test_a_part_within_an_f_string_is_refused():
    with pytest.raises(TypeError, match="pass it as a part of its own"):
        _ = f"set {Setting('limit', 3)}"


def test_settings_of_the_command_line_are_its_options():
    there = {name for command in main.commands.values() for option in command.params for name in option.opts}
    assert set(OPTIONS.values()) <= there


# -- from end to end ---------------------------------------------------------------------------------------------------


def rows_of_a_file(tmp_path, cell="2", column="x"):
    """Write 40 rows; the 31st cell of the first column is given."""
    cells = [cell if at == 30 else str(at % 7) for at in range(40)]
    lines = [f'"{cells[at]}",{"ab"[at % 2]}' for at in range(40)]
    path = tmp_path / "rows.csv"
    path.write_text("\n".join([f'"{column}",y', *lines]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("cell", ODD)
def test_a_cell_of_a_file_is_shown_as_it_is(cell, tmp_path):
    model = tmp_path / "m.parquet"
    nv.NaiveBayes(model="textbook").fit(str(rows_of_a_file(tmp_path)), target="y").save(model)
    path = rows_of_a_file(tmp_path, cell)
    with pytest.raises(errors.UnreadableRows) as found:
        nv.load(model).predict(str(path))
    assert (found.value.row, found.value.line, found.value.column) == (30, 32, "x")
    assert (found.value.path, found.value.value) == (str(path), cell)
    assert f"column 'x' holds {cell!r} here" in str(found.value)
    shown = CliRunner().invoke(main, ["predict", str(model), str(path), "-o", str(tmp_path / "answers.csv")]).output
    assert f"column 'x' holds {cell!r} here" in shown
    assert f"{path}, line 32: " in shown

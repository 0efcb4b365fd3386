"""Errors carry their facts, also between processes."""

import pickle

import pytest

from naively import errors

ERRORS = [
    errors.NotAPart("age", "spam", 3, 1.0, 2.0),
    errors.NumberTooLarge("age", 1e200),
    errors.RowRefused(3, "age", "nan", "only numbers can be counted."),
    errors.DoesNotFit("Counts of 2 and of 3 columns cannot be combined."),
    errors.InvalidSetting("smoothing=-1 must be finite and not negative."),
    errors.UnreadableFile("model.parquet", "there is no such file; check the path."),
    errors.UnwritableFile("model.parquet", "its folder does not exist; create it, or choose another."),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_survive_pickling(error):
    """A worker process can hand an error back: words, facts and kind are the same."""
    again = pickle.loads(pickle.dumps(error))

    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_errors_are_value_errors(error):
    """Whoever catches scikit-learn's errors catches ours."""
    assert isinstance(error, ValueError)
    assert isinstance(error, errors.NaivelyError)


def test_a_subtraction_names_the_place():
    """Column, class, value and both counts are in the words and at hand as facts."""
    error = errors.NotAPart(None, "spam", "cheap", 1.0, 2.0).in_column("body")

    assert str(error) == (
        "Cannot take away rows that were never counted: at column 'body', class 'spam', value 'cheap' the count is 1, "
        "and 2 would be taken. Nothing was changed; check which rows are meant."
    )
    assert (error.column, error.label, error.value, error.counted, error.taken) == ("body", "spam", "cheap", 1.0, 2.0)

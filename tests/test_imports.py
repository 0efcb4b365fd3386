"""What a model imports to answer: little, so that a program that loads one starts at once."""

import json
import subprocess
import sys

import numpy as np
import pytest

import naively as nv

# None of these is needed to answer a row: together they take ten times as long to import as all the rest.
SLOW = ("sklearn", "pandas", "polars", "duckdb", "narwhals", "joblib", "scipy.stats", "scipy.optimize", "rich", "click")
RNG = np.random.default_rng(5)
Y = RNG.integers(0, 2, 300)
TABLE = {"n": RNG.normal(Y, 1.0), "é": np.where(RNG.random(300) < 0.3 + 0.4 * Y, "a", "ü")}
TEXTS = [("gut naïve wort" if y else "bad word here") + f" {at % 7}" for at, y in enumerate(Y)]
ROW, TEXT = {"n": 0.5, "é": "ü"}, ["a naïve word"]


def fresh(program, *arguments):
    """Return what a program prints as JSON in an interpreter of its own."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program, *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Return models of a table and of texts in files, with the answers they gave before they were saved."""
    folder, made = tmp_path_factory.mktemp("models"), []
    for model in ("auto", "textbook"):
        for name, X, row in (("table", TABLE, ROW), ("texts", {"text": TEXTS}, TEXT)):
            families = {"text": "words"} if name == "texts" else None
            nb = nv.NaiveBayes(model=model, families=families).fit(X, Y)
            path = folder / f"{name} {model}.parquet"
            nb.save(path)
            made.append((str(path), row, nb.predict_proba(row).tolist()))
    return made


@pytest.mark.alone  # older versions of Arrow import pandas themselves
def test_a_loaded_model_answers_a_row_without_slow_imports(files):
    program = (
        "import json, sys; import naively as nv\n"
        "answers = [nv.load(path).predict_proba(row).tolist() for path, row in json.loads(sys.argv[1])]\n"
        "print(json.dumps([answers, sorted(sys.modules)]))"
    )
    answers, modules = fresh(program, json.dumps([[path, row] for path, row, _ in files]))

    assert answers == [answer for _, _, answer in files]
    assert not set(SLOW) & set(modules)


@pytest.mark.alone
def test_the_command_predict_answers_without_slow_imports(files, tmp_path):
    rows, out = tmp_path / "rows.csv", tmp_path / "answers.csv"
    rows.write_text("n,é\n0.5,ü\n", encoding="utf-8")
    program = (
        "import json, sys; from naively.cli import main\n"
        "try: main(sys.argv[1:])\n"
        "except SystemExit: pass\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    modules = fresh(program, "predict", files[0][0], rows, "-o", out, "-q")

    assert not (set(SLOW) - {"duckdb", "click", "rich"}) & set(modules)
    answer, probability = out.read_text(encoding="utf-8").splitlines()[1].split(",")[-2:]
    assert float(probability) == max(files[0][2][0])
    assert answer == str(int(np.argmax(files[0][2][0])))


def test_a_fit_does_not_import_scikit_learn():
    program = (
        "import json, sys; import naively as nv\n"
        "nb = nv.NaiveBayes().fit({'a': ['x', 'y'] * 30, 'b': list(range(60))}, ['in', 'out'] * 30)\n"
        "print(json.dumps([nb.predict({'a': 'x', 'b': 3}).tolist(), 'sklearn' in sys.modules]))"
    )
    assert fresh(program) == [["in"], False]


AFTERWARDS = """
import json, pickle, sys
import naively as nv
class Derived(nv.NaiveBayes): pass
nb, other = nv.load(sys.argv[1]), Derived(model="textbook")
before = "sklearn" in sys.modules
copied = pickle.dumps(nb)
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.utils import get_tags
bases, models = (BaseEstimator, ClassifierMixin), (nb, other, pickle.loads(copied))
found = [isinstance(one, base) for one in models for base in bases]
found += [is_classifier(nb), get_tags(other).input_tags.allow_nan, clone(other).get_params()["model"] == "textbook"]
found += [nv.NaiveBayes.__bases__ == (ClassifierMixin, BaseEstimator), hasattr(Derived, "set_fit_request")]
found += [clone(nb)._fitted is None, nb.predict_proba(json.loads(sys.argv[2])).tolist() == json.loads(sys.argv[3])]
print(json.dumps([before, found, repr(other)]))
"""


def test_a_model_is_an_estimator_once_scikit_learn_is_imported(files):
    """Also one that was made before, and one of a class derived before."""
    path, row, answer = files[0]
    before, found, shown = fresh(AFTERWARDS, path, json.dumps(row), json.dumps(answer))
    assert not before
    assert all(found)
    assert shown == "Derived(model='textbook')"


@pytest.mark.parametrize(
    "call",
    [
        "nb.set_params(model='auto') is nb and nb.model == nb.get_params()['model'] == 'auto'",
        pytest.param(
            "repr(nb) == \"NaiveBayes(model='textbook')\" and nb.__sklearn_tags__().input_tags.allow_nan",
            marks=pytest.mark.slow,
        ),
        pytest.param("callable(nb.set_fit_request) and 'NaiveBayes' in nb._repr_html_()", marks=pytest.mark.slow),
    ],
)
def test_methods_of_the_base_classes_import_them(call):
    program = (
        "import json, sys; import naively as nv\n"
        "nb = nv.NaiveBayes(model='textbook'); before = 'sklearn' in sys.modules\n"
        f"found = {call}\n"
        "from sklearn.base import BaseEstimator\n"
        "print(json.dumps([before, bool(found), isinstance(nb, BaseEstimator)]))"
    )
    assert fresh(program) == [False, True, True]

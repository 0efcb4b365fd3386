"""What a model imports to answer: little, so that a program that loads one starts at once."""

import json
import subprocess
import sys

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

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
copied = pickle.loads(pickle.dumps(nb))
before, shown = "sklearn" in sys.modules, repr(other)
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags
found = [is_classifier(one) for one in (nb, other, copied)]
found += [get_tags(other).input_tags.allow_nan, clone(other).get_params()["model"] == "textbook"]
found += [type(clone(other)) is Derived, clone(nb)._fitted is None]
found += [nb.predict_proba(json.loads(sys.argv[2])).tolist() == json.loads(sys.argv[3])]
print(json.dumps([before, found, shown]))
"""


def test_a_model_is_an_estimator_of_scikit_learn_without_its_import(files):
    """Also one that was made before, and one of a class derived before."""
    path, row, answer = files[0]
    before, found, shown = fresh(AFTERWARDS, path, json.dumps(row), json.dumps(answer))
    assert not before
    assert all(found)
    assert shown == "Derived(model='textbook')"


def test_settings_are_read_set_and_shown_without_an_import():
    program = (
        "import json, sys; import naively as nv\n"
        "nb = nv.NaiveBayes(model='textbook')\n"
        "found = [repr(nb) == \"NaiveBayes(model='textbook')\", 'NaiveBayes' in nb._repr_html_()]\n"
        "found += [nb.set_params(model='auto') is nb and nb.model == nb.get_params()['model'] == 'auto']\n"
        "print(json.dumps([found, 'sklearn' in sys.modules]))"
    )
    assert fresh(program) == [[True, True, True], False]


def test_a_setting_that_is_none_is_refused():
    with pytest.raises(ValueError, match="Invalid parameter 'modell' for estimator NaiveBayes"):
        nv.NaiveBayes().set_params(modell="auto")


def test_metadata_are_routed_to_the_methods_that_ask_for_them():
    """Requests follow from the signatures, are kept by clones, and reach `fit` inside of a search."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)), np.repeat([0, 1], 40)
    weights = np.where(np.arange(80) % 2, 0.0, 1.0)
    with config_context(enable_metadata_routing=True):
        nb = nv.NaiveBayes(model="textbook").set_fit_request(sample_weight=True).set_score_request(sample_weight=False)
        assert clone(nb).get_metadata_routing().fit.requests["sample_weight"] is True
        assert set(nb.get_metadata_routing().partial_fit.requests) == {"classes", "sample_weight", "target"}
        search = GridSearchCV(nb, {"smoothing": [0.5, 1.0]}, cv=2).fit(X, y, sample_weight=weights)
        with pytest.raises(TypeError, match="Unexpected args"):
            nb.set_fit_request(weight=True)
    assert search.best_estimator_.counts_.rows.sum() == 40

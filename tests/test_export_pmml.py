"""Models as PMML: the JPMML evaluator gives what predict_proba gives, and the document is what PMML 4.4 says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import naively as nv
from naively.errors import InvalidInput

from .flat_cases import FAMILIES, MODELS, asked, fitted, penguin_rows, table_of
from .tables import penguins

pytestmark = pytest.mark.alone
NAMESPACE = "{http://www.dmg.org/PMML-4_4}"
# Asks for documents and rows, a line of JSON for each, in a process of its own: a Java machine cannot be started twice.
EVALUATOR = """
import json, sys, warnings
warnings.simplefilter("ignore")
import pandas as pd
from jpmml_evaluator import make_evaluator
print("ready", flush=True)
for line in sys.stdin:
    path, rows = json.loads(line)
    evaluator = make_evaluator(path, backend="jpype").verify()
    found = evaluator.evaluateAll(pd.DataFrame(rows, dtype=object))
    cells = [{name: None if cell != cell else cell for name, cell in row.items()} for row in found.to_dict("records")]
    print(json.dumps(cells, default=str), flush=True)
"""


def answers(process: subprocess.Popen[str], nb: nv.NaiveBayes, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what JPMML says of rows."""
    with tempfile.TemporaryDirectory() as folder:
        nv.export.pmml(nb, Path(folder, "model.pmml"))
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([str(Path(folder, "model.pmml")), rows]) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
    assert line, "the evaluator ended"
    found: list[dict[str, Any]] = json.loads(line)
    return found


def check(process: subprocess.Popen[str], nb: nv.NaiveBayes, rows: list[dict[str, Any]]) -> None:
    """Compare the answers of JPMML with those of Python."""
    found = answers(process, nb, rows)
    assert not [answer["errors"] for answer in found if answer.get("errors")]
    labels = [str(label).lower() if isinstance(label, bool) else str(label) for label in nb.classes_.tolist()]
    probabilities = np.array([[answer[f"probability({label})"] for label in labels] for answer in found])
    assert np.abs(probabilities - nb.predict_proba(rows)).max() < 1e-9


@pytest.fixture(scope="module")
def jpmml() -> Iterator[subprocess.Popen[str]]:
    """Return JPMML in a process of its own."""
    pytest.importorskip("jpmml_evaluator", reason="needs the JPMML evaluator: pip install jpmml_evaluator jpype1")
    pytest.importorskip("jpype", reason="needs a bridge to Java: pip install jpype1")
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("needs Java (on Debian the package openjdk-17-jre-headless)")
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "encoding": "utf-8"}
    with subprocess.Popen([sys.executable, "-c", EVALUATOR], **pipes) as process:
        assert process.stdout.readline() == "ready\n"
        yield process
        process.stdin.close()


@pytest.mark.parametrize("model", MODELS)
def test_penguins_get_the_probabilities_of_python(jpmml, model):
    check(jpmml, nv.NaiveBayes(model=model, missing="value").fit(*penguins()), penguin_rows())


@pytest.mark.parametrize(
    ("model", "families"), [*(("textbook", name) for name in FAMILIES), ("auto", "counts"), ("auto", "bins")]
)
def test_every_family_gets_the_probabilities_of_python(jpmml, model, families):
    check(jpmml, fitted(table_of(2), model, FAMILIES[families], missing="value"), asked(table_of(2)))


@pytest.mark.parametrize("how", [{"estimate": "mle"}, {"unseen": "smooth"}, {"max_categories": 4}, {"estimate": "map"}])
def test_settings_get_the_probabilities_of_python(jpmml, how):
    check(jpmml, fitted(table_of(1), "textbook", {"visits": "poisson"}, **how), asked(table_of(1)))


def test_a_row_that_rules_out_all_classes_gets_the_prior(jpmml):
    nb = nv.NaiveBayes(model="textbook", estimate="mle").fit({"a": ["x", "y"], "b": ["p", "q"]}, ["1", "2"])
    check(jpmml, nb, [{"a": "x", "b": "p"}, {"a": "x", "b": "q"}, {"a": None, "b": "q"}])


def test_names_and_categories_of_any_characters_are_read(jpmml):
    names = ["select", 'a"b', "it's <&>", "naïve 名", "nv_c0", "a.b"]
    random = np.random.default_rng(0)
    table = pd.DataFrame({name: random.choice([f"{name} ]]>" for name in names], 60) for name in names})
    y = np.array(['cl"ass', "<class>", "三"])[np.arange(60) % 3]
    nb = nv.NaiveBayes(model="textbook", families=dict.fromkeys(names, "categorical")).fit(table, y)
    check(jpmml, nb, table.to_dict("records"))


def test_the_most_probable_class_is_predicted_and_classes_keep_their_type(jpmml):
    for classes in ([3, 5], [True, False]):
        nb = nv.NaiveBayes(model="textbook").fit({"x": [1.0, 2.0, 8.0, 9.0]}, np.repeat(classes, 2))
        check(jpmml, nb, [{"x": 1.5}, {"x": None}])
        found = answers(jpmml, nb, [{"x": 1.5}, {"x": 8.5}])
        assert [str(answer["class"]).lower() for answer in found] == [str(label).lower() for label in classes]


# -- the document ------------------------------------------------------------------------------------------------------


def test_fields_are_declared_with_their_types():
    document = ET.fromstring(nv.export.pmml(fitted(table_of(1), "textbook", {"grade": "categorical"})))
    assert (document.tag, document.get("version")) == (f"{NAMESPACE}PMML", "4.4")
    fields = {field.get("name"): field for field in document.iter(f"{NAMESPACE}DataField")}
    assert {name: (field.get("optype"), field.get("dataType")) for name, field in fields.items()} == {
        "size": ("continuous", "double"),
        "wide": ("continuous", "double"),
        "visits": ("continuous", "double"),
        "color": ("categorical", "string"),
        "shape": ("categorical", "string"),
        "member": ("categorical", "boolean"),
        "grade": ("categorical", "double"),
        "code": ("categorical", "string"),
        "class": ("categorical", "string"),
    }
    assert [value.get("value") for value in fields["class"]] == ["high", "low", "mid"]


def test_what_pmml_cannot_hold_is_refused_in_a_sentence_that_says_what_can_be_exported():
    texts = nv.NaiveBayes(families={"note": "words"}).fit({"note": ["good day", "bad day"] * 5}, ["p", "n"] * 5)
    with pytest.raises(InvalidInput, match=r"Column 'note' holds texts.*PMML holds numbers, categories and booleans"):
        nv.export.pmml(texts)
    odd = nv.NaiveBayes(model="textbook").fit({"z": ["a\x01", "b"]}, ["p", "n"])
    with pytest.raises(InvalidInput, match=r"holds the character '\\x01', which XML cannot hold"):
        nv.export.pmml(odd)

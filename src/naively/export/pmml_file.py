"""A model as PMML 4.4: a regression model with softmax over what derived fields compute."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from xml.etree import ElementTree as ET

from .. import __version__
from .._types import Json, JsonObject
from ..errors import InvalidInput
from ..markup.tags import UNREADABLE
from .exported import HasFlat, flat_of, refuse_texts, written
from .formulas import (
    BinCode,
    Call,
    Choice,
    Formula,
    LabelCell,
    LabelCode,
    Lookup,
    Named,
    Number,
    NumberCell,
    Step,
    call,
)
from .scoring import scoring_steps

NAMESPACE = "http://www.dmg.org/PMML-4_4"
CAN = "PMML holds numbers, labels and booleans; texts can be exported as JavaScript or JSON"
FUNCTIONS = {"<": "lessThan", "=": "equal", "missing": "isMissing", "log1p": "ln1p"}
TYPES = {"text": "string", "boolean": "boolean", "time": "string"}  # of labels; those of numbers are doubles
IMPOSSIBLE = -1000.0  # the logarithm of a probability of 0: its exponential is 0


def pmml(model: HasFlat, path: str | PathLike[str] | None = None) -> str:
    """Return a model as PMML 4.4, which scoring engines of other vendors read, JPMML among them.

    Textbook and joint models can be exported, without texts. Fields have the names of the columns; a missing
    field is a missing value, and a label that was not seen in training is taken as `predict` takes it. Times are
    numbers: seconds since 1970. The output has the probability of each class, `probability(class)`. The answer is the
    most probable class; costs and rejection are not part of it.

    Parameters
    ----------
    model : NaiveBayes or FlatModel
        The fitted model.
    path : str or Path, optional
        The file to write, which is replaced if it exists.

    Returns
    -------
    document : str
        The XML document.

    Raises
    ------
    InvalidInput
        If the model has a column that PMML cannot hold, such as one of texts.
    UnwritableFile
        If the file cannot be written.

    Examples
    --------
    >>> import naively as nv
    >>> nb = nv.NaiveBayes(model="textbook").fit({"sky": ["rain", "sun", "sun"]}, ["in", "out", "out"])
    >>> '<DataField name="sky" optype="categorical" dataType="string"' in nv.export.pmml(nb)
    True
    """
    content = flat_of(model).content
    refuse_texts(content, CAN)
    document = PmmlWriter(content).document()
    ET.indent(document, space="")
    text = ET.tostring(document, encoding="unicode")
    refuse_unreadable(text)
    return written(f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n', path)


def refuse_unreadable(text: str) -> None:
    """Refuse names and labels with characters that XML cannot hold."""
    found = next((sign for sign in text if ord(sign) in UNREADABLE or 0xD800 <= ord(sign) < 0xE000), None)
    if found is not None:
        raise InvalidInput(
            f"A label or a column's name holds the character {found!r}, which XML cannot hold. Export the model as "
            "JavaScript or JSON, or fit it without that character."
        )


def element(tag: str, /, *children: ET.Element, text: str | None = None, **attributes: str) -> ET.Element:
    """Return an element with its children."""
    found = ET.Element(tag, attributes)
    found.extend(children)
    found.text = text
    return found


def value_text(value: Json) -> str:
    """Return a label or a number as PMML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


class PmmlWriter:
    """Writes the steps of a model as derived fields."""

    def __init__(self, content: JsonObject) -> None:
        self.content = content
        self.target = content["target"] or "class"
        self.fields = {f"{kind}{at}": column["name"] for at, column in enumerate(content["columns"]) for kind in "nv"}
        self.prefix = "nv_"  # of the names of derived fields
        while any(name.startswith(self.prefix) for name in (*self.fields.values(), self.target)):
            self.prefix += "_"

    def document(self) -> ET.Element:
        """Return the document."""
        columns = [data_field(column) for column in self.content["columns"]]
        values = [element("Value", value=value_text(label)) for label in self.content["classes"]]
        target = element("DataField", *values, name=self.target, optype="categorical", dataType=self._class_type())
        return element(
            "PMML",
            element("Header", element("Application", name="naively", version=__version__)),
            element("DataDictionary", *columns, target),
            self._model(),
            xmlns=NAMESPACE,
            version="4.4",
        )

    def _class_type(self) -> str:
        """Return the type of the classes."""
        kinds = {type(label) for label in self.content["classes"]}
        return (
            {bool: "boolean", int: "integer", float: "double"}[kinds.pop()]
            if kinds in ({bool}, {int}, {float})
            else "string"
        )

    def _model(self) -> ET.Element:
        """Return the regression model: the score of a class is the logarithm of its probability."""
        steps = scoring_steps(self.content)
        labels = [value_text(label) for label in self.content["classes"]]
        logs: Step = {}
        for k in range(len(labels)):
            p = Named(f"p{k}")
            logs[f"log{k}"] = Choice(call("<", 0.0, p), call("ln", p), Number(IMPOSSIBLE))
        derived = [self._derived(name, formula) for step in (*steps, logs) for name, formula in step.items()]
        tables = [
            element(
                "RegressionTable",
                element("NumericPredictor", name=self._name(f"log{k}"), coefficient="1"),
                intercept="0",
                targetCategory=label,
            )
            for k, label in enumerate(labels)
        ]
        return element(
            "RegressionModel",
            self._mining_schema(),
            self._output(labels),
            element("LocalTransformations", *(field for field in derived if field is not None)),
            *tables,
            functionName="classification",
            normalizationMethod="softmax",
            modelName=f"naive Bayes ({self.content['model']})",
        )

    def _mining_schema(self) -> ET.Element:
        """Return the fields that are read; any value is valid, and a missing one stays missing."""
        active = [
            element("MiningField", name=column["name"], usageType="active", invalidValueTreatment="asIs")
            for column in self.content["columns"]
        ]
        return element("MiningSchema", *active, element("MiningField", name=self.target, usageType="target"))

    def _output(self, labels: Iterable[str]) -> ET.Element:
        """Return the probability of each class."""
        how = {"optype": "continuous", "dataType": "double", "feature": "probability"}
        return element(
            "Output", *(element("OutputField", name=f"probability({one})", value=one, **how) for one in labels)
        )

    # -- formulas ------------------------------------------------------------------------------------------------------

    def _name(self, name: str) -> str:
        """Return the name of a field: that of a column for its cell."""
        return str(self.fields.get(name, self.prefix + name))

    def _derived(self, name: str, formula: Formula) -> ET.Element | None:
        """Return a derived field; a cell is a field already."""
        if isinstance(formula, (NumberCell, LabelCell)):
            return None
        whole = name[0] in "cqt" and name != "top"
        types = (
            {"optype": "categorical", "dataType": "integer"}
            if whole
            else {"optype": "continuous", "dataType": "double"}
        )
        return element("DerivedField", self._expression(formula), name=self._name(name), **types)

    def _expression(self, formula: Formula) -> ET.Element:
        """Return a formula as an expression."""
        match formula:
            case Number(value):
                return element(
                    "Constant", text=value_text(value), dataType="integer" if isinstance(value, int) else "double"
                )
            case Named(name):
                return element("FieldRef", field=self._name(name))
            case BinCode(Named(name), cuts):
                return element("Discretize", *intervals(cuts), field=self._name(name), dataType="integer")
            case Lookup(Named(name), values):
                return self._lookup(name, values)
            case LabelCode(Named(name), column, codes, no_value):
                return self._label_code(name, column, codes | dict.fromkeys(no_value, int(column["missing"])))
            case Choice(condition, then, otherwise):
                return element("Apply", *map(self._expression, (condition, then, otherwise)), function="if")
            case Call("no number"):
                return element("Constant", dataType="double", missing="true")
            case Call(function, arguments):
                return element("Apply", *map(self._expression, arguments), function=FUNCTIONS.get(function, function))
        raise AssertionError(formula)

    def _lookup(self, name: str, values: tuple[float, ...] | tuple[int, ...]) -> ET.Element:
        """Return the value of a code; the one that most codes have is not listed."""
        kind = "integer" if isinstance(values[0], int) else "double"
        rows = [table_row(str(at - 1), value_text(value)) for at, value in enumerate(values) if value != values[0]]
        pair = element("FieldColumnPair", field=self._name(name), column="in")
        how = {"outputColumn": "out", "dataType": kind, "defaultValue": value_text(values[0])}
        return (
            element("MapValues", pair, element("InlineTable", *rows), **how)
            if rows
            else self._expression(Number(values[0]))
        )

    def _label_code(self, name: str, column: JsonObject, codes: dict[Json, int]) -> ET.Element:
        """Return the code of a label."""
        rows = [table_row(value_text(label), str(code)) for label, code in codes.items()]
        pair = element("FieldColumnPair", field=self._name(name), column="in")
        how = {"defaultValue": str(column["unseen"]), "mapMissingTo": str(column["missing"])}
        table = element("InlineTable", *rows)
        return element("MapValues", pair, table, outputColumn="out", dataType="integer", **how)


def data_field(column: JsonObject) -> ET.Element:
    """Return how a column is declared."""
    kind = TYPES.get(column["type"], "double") if column["kind"] == "label" else "double"
    optype = "continuous" if column["kind"] == "number" else "categorical"
    return element("DataField", name=column["name"], optype=optype, dataType=kind)


def intervals(cuts: tuple[float, ...]) -> Iterable[ET.Element]:
    """Yield the bins of a number, which hold their upper ends."""
    for at in range(len(cuts) + 1):
        ends = {"leftMargin": value_text(cuts[at - 1])} if at else {}
        ends |= {"rightMargin": value_text(cuts[at])} if at < len(cuts) else {}
        closure = "openClosed" if at < len(cuts) else "openOpen"
        yield element("DiscretizeBin", element("Interval", closure=closure, **ends), binValue=str(at))


def table_row(key: str, value: str) -> ET.Element:
    """Return a line of a table."""
    return element("row", element("in", text=key), element("out", text=value))

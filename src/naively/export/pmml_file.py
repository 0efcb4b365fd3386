"""A model as PMML 4.4: a regression model whose predictors are derived fields that compute the probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from xml.etree import ElementTree as ET

from .. import __version__
from .._types import Json, JsonObject
from ..errors import InvalidInput
from ..page.tags import UNREADABLE
from .flat_file import HasFlat, flat_of, refuse_texts, saved
from .formulas import BinCode, Call, CategoryCode, Cell, Choice, Formula, Lookup, Named, Number, scoring_steps

FUNCTIONS = {"<": "lessThan", "=": "equal", "missing": "isMissing", "log1p": "ln1p"}
TYPES = {"text": "string", "boolean": "boolean", "time": "string"}  # of categories; those of numbers are doubles
TYPES_OF_CLASSES = {bool: "boolean", int: "integer", float: "double"}


def pmml(model: HasFlat, path: str | PathLike[str] | None = None) -> str:
    """Return a model as PMML 4.4, which scoring engines of other vendors read, JPMML among them.

    Every model without texts can be exported. Fields have the names of the columns; a missing field is a missing
    value, and a category that was not seen in training is treated as `predict` treats it. Times are numbers: seconds
    since 1970. The output has the probability of each class, `probability(class)`. The predicted class is the most
    probable one; costs and rejection are not part of the document.

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
    refuse_texts(content["columns"], "PMML holds numbers, categories and booleans")
    document = PmmlWriter(content).document()
    ET.indent(document, space="")
    text = ET.tostring(document, encoding="unicode")
    unreadable = next((sign for sign in text if ord(sign) in UNREADABLE or 0xD800 <= ord(sign) < 0xE000), None)
    if unreadable is not None:
        raise InvalidInput(
            f"A category or the name of a column holds the character {unreadable!r}, which XML cannot hold. Export the "
            "model as JavaScript or JSON, or fit it without that character."
        )
    return saved(f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n', path)


class PmmlWriter:
    """Writes the steps of a model as derived fields."""

    def __init__(self, content: JsonObject) -> None:
        self.content, self.columns = content, content["columns"]
        self.target = content["target"] or "class"
        self.classes = [value_text(label) for label in content["classes"]]
        self.fields = {f"{kind}{index}": column["name"] for index, column in enumerate(self.columns) for kind in "nv"}
        self.prefix = "nv_"  # of the names of derived fields
        while any(name.startswith(self.prefix) for name in (*self.fields.values(), self.target)):
            self.prefix += "_"

    def document(self) -> ET.Element:
        """Return the document."""
        header = element("Header", element("Application", name="naively", version=__version__))
        parts = header, self._data_dictionary(), self._model()
        return element("PMML", *parts, xmlns="http://www.dmg.org/PMML-4_4", version="4.4")

    def _data_dictionary(self) -> ET.Element:
        """Return how the columns and the target are declared."""
        fields = [
            element("DataField", name=column["name"], optype="continuous", dataType="double")
            if column["kind"] == "number"
            else element(
                "DataField", name=column["name"], optype="categorical", dataType=TYPES.get(column["type"], "double")
            )
            for column in self.columns
        ]
        types = {type(label) for label in self.content["classes"]}
        kind = TYPES_OF_CLASSES.get(types.pop(), "string") if len(types) == 1 else "string"
        values = [element("Value", value=label) for label in self.classes]
        target = element("DataField", *values, name=self.target, optype="categorical", dataType=kind)
        return element("DataDictionary", *fields, target)

    def _model(self) -> ET.Element:
        """Return the regression model, whose predictors are the probabilities; any value is valid."""
        active = [
            element("MiningField", name=column["name"], usageType="active", invalidValueTreatment="asIs")
            for column in self.columns
        ]
        outputs = [
            element(
                "OutputField", name=f"probability({label})", value=label,
                optype="continuous", dataType="double", feature="probability",
            )
            for label in self.classes
        ]  # fmt: skip
        tables = [
            element(
                "RegressionTable",
                element("NumericPredictor", name=self._name(f"p{k}"), coefficient="1"),
                intercept="0", targetCategory=label,
            )
            for k, label in enumerate(self.classes)
        ]  # fmt: skip
        return element(
            "RegressionModel",
            element("MiningSchema", *active, element("MiningField", name=self.target, usageType="target")),
            element("Output", *outputs),
            element("LocalTransformations", *self._derived_fields()),
            *tables,
            functionName="classification",
            normalizationMethod="simplemax",
            modelName=f"naive Bayes ({self.content['model']})",
        )

    def _derived_fields(self) -> Iterator[ET.Element]:
        """Yield the formulas of all steps but cells, which are fields already."""
        for step in scoring_steps(self.content):
            for name, formula in step.items():
                if not isinstance(formula, Cell):
                    is_code = name[0] in "cqmt" and name != "top"
                    optype, kind = ("categorical", "integer") if is_code else ("continuous", "double")
                    expression = self._expression(formula)
                    yield element("DerivedField", expression, name=self._name(name), optype=optype, dataType=kind)

    def _name(self, name: str) -> str:
        """Return the name of a field: that of a column for its cell."""
        return str(self.fields.get(name, self.prefix + name))

    def _expression(self, formula: Formula) -> ET.Element:
        """Return a formula as an expression."""
        match formula:
            case Number(value):
                kind = "integer" if isinstance(value, int) else "double"
                return element("Constant", text=value_text(value), dataType=kind)
            case Named(name):
                return element("FieldRef", field=self._name(name))
            case BinCode(Named(name), cuts):
                return element("Discretize", *bins(cuts.tolist()), field=self._name(name), dataType="integer")
            case Lookup(Named(name), values):
                first, *others = values.tolist()
                return (
                    self._table(name, enumerate(others), first)
                    if set(others) - {first}
                    else self._expression(Number(first))
                )
            case CategoryCode(Named(name), column, codes, no_value):
                pairs = [*codes.items(), *((text, column["missing"]) for text in no_value)]
                return self._table(name, pairs, column["unseen"], mapMissingTo=str(column["missing"]))
            case Call("no number"):
                return element("Constant", dataType="double", missing="true")
            case Call(function, arguments):
                return element("Apply", *map(self._expression, arguments), function=FUNCTIONS.get(function, function))
            case Choice(condition, then, otherwise):
                return element("Apply", *map(self._expression, (condition, then, otherwise)), function="if")
        raise AssertionError(formula)

    def _table(self, name: str, pairs: Iterable[tuple[Json, Json]], default: Json, **attributes: str) -> ET.Element:
        """Return the value of a key; keys of the default are not listed."""
        rows = [
            element("row", element("in", text=value_text(key)), element("out", text=value_text(value)))
            for key, value in pairs
            if value != default
        ]
        attributes |= {"outputColumn": "out", "defaultValue": value_text(default)}
        attributes["dataType"] = "double" if isinstance(default, float) else "integer"
        pair = element("FieldColumnPair", field=self._name(name), column="in")
        return element("MapValues", pair, element("InlineTable", *rows), **attributes)


def element(tag: str, /, *children: ET.Element, text: str | None = None, **attributes: str) -> ET.Element:
    """Return an element with its children."""
    result = ET.Element(tag, attributes)
    result.extend(children)
    result.text = text
    return result


def value_text(value: Json) -> str:
    """Return a category or a number as PMML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, float) else str(value)


def bins(cuts: Sequence[float]) -> Iterator[ET.Element]:
    """Yield the bins of a number, which hold their upper ends."""
    for index in range(len(cuts) + 1):
        ends = {"leftMargin": value_text(cuts[index - 1])} if index else {}
        ends |= {"rightMargin": value_text(cuts[index])} if index < len(cuts) else {}
        closure = "openClosed" if index < len(cuts) else "openOpen"
        yield element("DiscretizeBin", element("Interval", closure=closure, **ends), binValue=str(index))

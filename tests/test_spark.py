"""Naively on Spark, in one session; Spark Connect has a program of its own."""

import decimal
import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import naively as nv
from naively.errors import InvalidInput

LABEL = "label"


def mixed_table(rows, seed=0):
    """Return rows of every type that Spark has and that can be counted, with missing values and a label."""
    rng = np.random.default_rng(seed)
    y = rng.choice(3, rows, p=[0.5, 0.3, 0.2])
    missing = rng.random((rows, 4)) < 0.05
    days = np.datetime64("2024-01-01") + rng.integers(0, 200, rows) + 30 * y
    cents = [decimal.Decimal(int(n)) / 100 for n in rng.integers(0, 10_000, rows) + 900 * y]
    colours = (rng.integers(0, 4, rows) + (rng.random(rows) < 0.4) * y) % 4
    return pa.table(
        {
            "x": pa.array(rng.normal(y, 1.5), mask=missing[:, 0]),
            "visits": pa.array(rng.poisson(2 + 2 * y), mask=missing[:, 1]),
            "colour": pa.array(["red", "green", "blue", "grey"]).take(pa.array(colours, mask=missing[:, 2])),
            "member": pa.array(rng.random(rows) < 0.2 + 0.3 * y, mask=missing[:, 3]),
            "day": pa.array(days.astype("datetime64[D]")),
            "price": pa.array(cents, pa.decimal128(10, 2)),
            LABEL: pa.array(["low", "middle", "high"]).take(pa.array(y)),
        }
    )


def text_table(rows, classes):
    """Return texts, a category, a weight and one of many classes; some rows have no label."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, classes, rows)
    return pa.table(
        {
            "note": [" ".join(f"w{(k * n) % 97}" for n in rng.integers(1, 40, 6)) for k in y],
            "shop": [f"shop {k}" for k in (y + rng.integers(0, 3, rows)) % 11],
            "times": rng.integers(1, 4, rows),
            LABEL: pa.array([f"class {k:02}" for k in y], mask=rng.random(rows) < 0.03),
        }
    )


# Fits on Spark Connect, a client without a JVM of its own: prints whether everything is as in one process.
CONNECTED = """
import sys, warnings
warnings.filterwarnings("ignore")
import numpy as np, pyarrow.parquet as pq
from pyspark.sql import SparkSession
import naively as nv
from naively import spark as nv_spark

session = SparkSession.builder.remote("local[2]").getOrCreate()
assert ".connect." in type(session).__module__
frame, table = session.read.parquet(sys.argv[1]), pq.read_table(sys.argv[1])
alone = nv.NaiveBayes(model="textbook").fit(table, target="label")
for rows in (frame, frame.filter("x is null or x > -1e9")):
    assert nv_spark.count(rows, target="label") == alone.counts_
nb = nv_spark.fit(frame.repartition(3), target="label")
one = nv.NaiveBayes().fit(table, target="label")
assert np.abs(nb.predict_proba(table) - one.predict_proba(table)).max() <= 1e-9
assert nv_spark.predict(nb, frame, contributions=1).toArrow().num_rows == table.num_rows
assert nv_spark.evaluate(nb, frame, target="label").rows == table.num_rows
model = nv_spark.SparkClassifier(target="label", model="textbook").fit(frame)
assert model.classifier.counts_ == alone.counts_
model.write().save(sys.argv[2])
assert nv_spark.SparkClassifierModel.load(sys.argv[2]).transform(frame).count() == table.num_rows
print("connected", session.version)
session.stop()
"""


pyspark = pytest.importorskip("pyspark", reason="PySpark is not installed")

from naively import spark as nv_spark  # noqa: E402

HAS_JAVA = shutil.which("java") is not None or Path(os.environ.get("JAVA_HOME", "/nowhere"), "bin/java").exists()
ROOT = Path(__file__).parent.parent
pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(not HAS_JAVA, reason="Java is not installed, which Spark needs"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),  # sockets of Py4J
]


@pytest.fixture(scope="module")
def session():
    """Return the one session of Spark that all tests share."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2,2]").config("spark.ui.enabled", "false")  # two trials
    found = builder.config("spark.sql.shuffle.partitions", "2").config("spark.driver.memory", "1g").getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    yield found
    found.stop()


@pytest.fixture(scope="module")
def table():
    """Return more rows than are kept whole, so that the model depends on which rows are sampled."""
    return mixed_table(60_000)


@pytest.fixture(scope="module")
def path(table, tmp_path_factory):
    """Return the same rows as Parquet files of several row groups."""
    folder = tmp_path_factory.mktemp("rows")
    for number in range(2):
        pq.write_table(table.slice(number * 30_000, 30_000), folder / f"part-{number}.parquet", row_group_size=3_500)
    return folder


@pytest.fixture(scope="module")
def alone(table):
    """Return the models of one process."""
    return {model: nv.NaiveBayes(model=model).fit(table, target=LABEL) for model in ("textbook", "auto")}


def check_same(found, one, rows, tolerance=1e-9):
    """Check that a model predicts rows as another one does."""
    assert np.abs(found.predict_proba(rows) - one.predict_proba(rows)).max() <= tolerance


@pytest.mark.parametrize("partitions", [pytest.param(1, marks=pytest.mark.slow), 3])
def test_any_partitions_give_the_model_of_one_process(partitions, session, path, table, alone):
    from pyspark.sql.functions import rand

    rows = session.read.parquet(str(path)).orderBy(rand(partitions)).repartition(partitions)
    assert nv_spark.count(rows, target=LABEL) == alone["textbook"].counts_
    check_same(nv_spark.fit(rows, target=LABEL), alone["auto"], table.slice(0, 2_000))


def test_files_give_the_model_of_one_process(session, path, table):
    table = table.drop(["day"])
    found = nv_spark.fit(session.read.parquet(str(path)).drop("day"), target=LABEL)
    check_same(found, nv.NaiveBayes().fit(table, target=LABEL), table)
    counts = nv_spark.count(path, target=LABEL, ignore=["day"], schema={"x": "bins"}, session=session)
    assert counts == nv.count(table, target=LABEL, schema={"x": "bins"})
    more = nv_spark.count(session.createDataFrame(table.slice(500, 700)), target=LABEL, schema=counts.schema)
    assert counts + more == counts + nv.count(table.slice(500, 700), target=LABEL, schema=counts.schema)


def test_texts_weights_and_many_classes_are_counted_as_in_one_process(session):
    table = text_table(3_000, 40)
    frame = session.createDataFrame(table).repartition(5, "shop")
    given = {"families": {"note": "words"}, "unlabelled": "skip", "class_weight": {"class 03": 5.0}}
    # Words are numbered as they come, and coefficients of words are sums in single precision in that order.
    for model, tolerance in (("textbook", 1e-9), ("auto", 5e-6)):
        one = nv.NaiveBayes(model=model, **given).fit(table, target=LABEL, sample_weight="times")
        found = nv_spark.fit(frame, target=LABEL, weight="times", model=model, **given)
        assert found.counts_.rows.tolist() == one.counts_.rows.tolist()
        check_same(found, one, table, tolerance)
    given = {"target": LABEL, "schema": {"note": "words"}, "weight": "times", "unlabelled": "skip"}
    assert nv_spark.count(frame, **given) == nv.count(table, **given)


def test_what_spark_computes_is_not_read_from_files(session, path):
    frame = session.read.parquet(str(path)).drop("price")
    for rows in (
        frame.filter("x > 0"),
        frame.drop("day").filter("visits > 1"),
        frame.withColumn("more", frame["x"] * 2).withColumnRenamed("visits", "number"),
        frame.drop("day").union(frame.drop("day")),
        frame.drop("day").orderBy("x", "visits", "member", "colour", LABEL).limit(10),
    ):
        assert nv_spark.count(rows, target=LABEL) == nv.count(rows.toArrow(), target=LABEL)


def test_folders_that_are_columns_and_files_of_other_types_are_read_by_spark(session, tmp_path):
    table, years, files = pa.table({"x": [1.0, 2.0], LABEL: ["a", "b"]}), tmp_path / "years", tmp_path / "files"
    for folder in (years / "year=2023", years / "year=2024", files):
        folder.mkdir(parents=True)
        pq.write_table(table, folder / "rows.parquet")
    counts = nv_spark.count(session.read.parquet(str(years)), target=LABEL)
    assert (set(counts.columns), counts.rows.tolist()) == ({"x", "year"}, [2, 2])
    pq.write_table(pa.table({LABEL: ["a", "a"]}), files / "some.parquet")  # Spark reads x as missing there
    nb = nv.NaiveBayes().fit(table, target=LABEL)
    for read in (session.read.schema(f"x double, {LABEL} string"), session.read):
        rows = read.parquet(str(files))
        assert nv_spark.count(rows, target=LABEL) == nv.count(rows.toArrow(), target=LABEL)
        assert nv_spark.predict(nb, rows).count() == 4


def test_tasks_read_plain_files_themselves_and_name_a_damaged_one(session, path, tmp_path):
    data = bytearray((path / "part-0.parquet").read_bytes())
    data[4:20_000] = b"x" * 19_996  # its footer is whole
    (tmp_path / "damaged.parquet").write_bytes(data)
    damaged = str(tmp_path / "damaged.parquet")
    plain = [session.read.parquet(name) for name in (damaged, str(tmp_path), f"{tmp_path}/*.parquet")]
    for rows in (damaged, plain[0].drop("day"), plain[1].select("x", LABEL), plain[2].drop("day", "price")):
        with pytest.raises(InvalidInput, match=r"damaged.parquet cannot be read"):
            nv_spark.count(rows, target=LABEL, ignore=["day"] if rows is damaged else (), session=session)


def test_a_task_that_is_lost_counts_the_same_when_it_runs_again(session, table):
    def lost_at_first(batches):
        from pyspark import TaskContext

        yield from batches
        if not TaskContext.get().attemptNumber():
            raise RuntimeError("lost")

    frame = session.createDataFrame(table.slice(0, 3_000)).repartition(3)
    counts = nv_spark.count(frame.mapInArrow(lost_at_first, frame.schema), target=LABEL)
    assert counts == nv.count(table.slice(0, 3_000), target=LABEL)


def test_predictions_are_those_of_one_process(session, path, alone):
    plain = session.read.parquet(str(path / "part-0.parquet"))
    for frame in (plain.limit(300), plain.drop("day")):
        nb = alone["auto"] if "day" in frame.columns else nv.NaiveBayes().fit(frame.toArrow(), target=LABEL)
        found = nv_spark.predict(nb, frame, probabilities=True).toArrow()
        rows = found.select(frame.columns)
        expected = nb.predict_proba(rows)
        assert found["answer"].to_pylist() == nb.predict(rows).tolist()
        assert (found["probability"].to_numpy() == expected.max(axis=1)).all()
        for k, label in enumerate(nb.classes_):
            assert (found[f"P({label})"].to_numpy() == expected[:, k]).all()
        assert rows.num_rows == frame.count()


def test_contributions_are_the_strongest_of_the_evidence(session, table, alone):
    some, nb = table.slice(0, 20), alone["textbook"]
    frame = nv_spark.predict(nb, session.createDataFrame(some), contributions=2, prefix="new_")
    assert frame.columns[-3:] == ["new_answer", "new_probability", "new_contributions"]
    evidence, places = nb.explain(some), np.arange(len(some))
    leads = evidence.scores[places, :, evidence.answer] - evidence.scores[places, :, evidence.against]
    for row, lead in zip(frame.toArrow().to_pylist(), leads, strict=True):
        found = {one["column"]: one["log_odds"] for one in row["new_contributions"]}
        order = np.argsort(-np.abs(lead), kind="stable")[:2]
        assert list(found) == [evidence.columns[index] for index in order]
        assert list(found.values()) == pytest.approx(lead[order].tolist())


def test_unseen_values_and_other_columns_do_no_harm(session):
    from pyspark.sql.functions import array, lit

    nb = nv.NaiveBayes().fit({"colour": ["red", "blue"] * 4}, [1, 2] * 4)
    frame = session.createDataFrame([("red",), ("pink",), (None,)], "colour string")
    found = nv_spark.predict(nb, frame.withColumn("list", array(lit(1), lit(2))).repartition(8), probabilities=True)
    assert dict(found.dtypes)["answer"] == "bigint"
    rows = {row["colour"]: row for row in found.collect()}
    assert (rows["red"]["answer"], rows[None]["list"]) == (1, [1, 2])
    assert rows["pink"]["P(1)"] == pytest.approx(0.5)


def test_scores_are_those_of_one_process(session, table, alone):
    weights = pa.array(np.random.default_rng(2).integers(0, 3, 4_000))
    some = table.slice(0, 4_000).append_column("times", weights)
    frame, truth = session.createDataFrame(some).repartition(3), some[LABEL].to_pylist()
    costly = nv.NaiveBayes(model="textbook", cost={("low", "high"): 3.0}, reject=0.4).fit(table, target=LABEL)
    for nb, weight in ((alone["auto"], None), (costly, "times")):
        found = nv_spark.evaluate(nb, frame, target=LABEL, weight=weight)
        w = None if weight is None else some["times"].to_numpy()
        scores = nv.Scores(nb.predict_proba(some), truth, nb.classes_, w, nb.cost, nb.reject)
        for name in ("rows", "coverage", "accuracy", "balanced_accuracy", "mean_cost", "log_loss", "brier"):
            assert getattr(found, name) == pytest.approx(getattr(scores, name), rel=1e-12), name
        assert found.calibration_error == pytest.approx(scores.calibration_error, rel=1e-9)
        assert abs(found.auc - scores.auc) <= found.auc_error < 1e-3
        choices = len(scores.choices)
        assert found.confusion[:, :choices].tolist() == scores.confusion[:, :choices].tolist()
        for name in ("accuracy", "log_loss", "brier", "mean_cost"):
            assert found.spread[name] == pytest.approx(scores.spread[name], rel=1e-9), name


def test_a_class_that_the_model_never_saw_is_scored_as_one():
    first = nv.Scores([[0.9, 0.1], [0.2, 0.8]], [0, 1], (0, 1))
    second = nv.Scores([[0.6, 0.4, 0.0]], [5], (0, 1, 5))
    both = nv_spark.ScoreSums.of(first) + nv_spark.ScoreSums.of(second)
    whole = nv.Scores([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0], [0.6, 0.4, 0.0]], [0, 1, 5], (0, 1, 5))
    assert both.classes == (0, 1, 5)
    for name in ("auc", "log_loss", "accuracy"):
        assert getattr(both, name) == pytest.approx(getattr(whole, name)), name


def test_rows_without_a_label_are_refused_or_skipped(session):
    rows = [("red", "a"), ("blue", "b"), ("red", None)] * 5
    frame = session.createDataFrame(rows, f"colour string, {LABEL} string").repartition(4, LABEL)
    with pytest.raises(InvalidInput, match=r"has no label.*unlabelled='skip'"):
        nv_spark.fit(frame, target=LABEL)
    nb = nv_spark.fit(frame, target=LABEL, model="textbook", unlabelled="skip")
    assert nb.counts_.rows.tolist() == [5, 5]
    assert nv_spark.evaluate(nb, frame, target=LABEL).rows == 10
    nb.unlabelled = "error"
    with pytest.raises(InvalidInput, match="has no class"):
        nv_spark.evaluate(nb, frame, target=LABEL)


def test_errors_name_the_column_and_say_what_to_do(session):
    from pyspark.ml.linalg import Vectors
    from pyspark.sql.functions import array, expr, lit

    frame = session.createDataFrame([("red", "a")], f"colour string, {LABEL} string")
    nested = frame.withColumn("list", array(lit(1)))
    assert nv_spark.count(nested, target=LABEL, ignore=["list"]).rows.tolist() == [1]
    for rows, message, given in (
        (nested, "'list' holds list.*leave it out", {}),
        (
            session.createDataFrame([(Vectors.dense([1.0]), "a")], ["features", LABEL]),
            "vectors of.*vector_to_array",
            {},
        ),
        (frame.withColumn("gap", expr("interval '1-2' year to month")), "Interval.*leave it out", {}),
        (frame, "no column 'lable'; did you mean 'label'", {"target": "lable"}),
        (frame.select("colour", "colour", LABEL), "2 columns are called 'colour'", {}),
        (frame.limit(0), "no rows", {}),
        (frame.select(LABEL), "no column to learn from", {}),
        ({"colour": ["red"]}, "Rows in memory need no Spark", {}),
        (frame, "takes a table in memory", {"unlabelled": "em", "estimate": "map"}),
    ):
        with pytest.raises(InvalidInput, match=message):
            nv_spark.fit(rows, **({"target": LABEL} | given))
    nb = nv.NaiveBayes().fit({"colour": ["red", "blue"], "size": [1, 2]}, ["a", "b"])
    with pytest.raises(InvalidInput, match="no column 'size'"):
        nv_spark.predict(nb, frame)
    nb = nv.NaiveBayes().fit({"colour": ["red", "blue"]}, ["a", "b"])
    with pytest.raises(InvalidInput, match=r"a column 'answer' already.*prefix"):
        nv_spark.predict(nb, frame.withColumnRenamed(LABEL, "answer"))
    with pytest.raises(InvalidInput, match="must be texts, numbers, lists or dicts"):
        nv_spark.SparkClassifier(LABEL, families={"visits": nv.Poisson()})
    with pytest.raises(InvalidInput, match="This model is empty"):
        _ = nv_spark.SparkClassifierModel().classifier


def test_a_pipeline_is_saved_and_loaded(session, table, tmp_path):
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.ml.feature import SQLTransformer, VectorAssembler

    frame = session.createDataFrame(table.slice(0, 600).drop(["day", "price"]))
    stages = [
        SQLTransformer(statement="select *, coalesce(visits, 0) as known from __THIS__"),
        VectorAssembler(inputCols=["known"], outputCol="features"),
        nv_spark.SparkClassifier(LABEL, ignore=["features"], contributions=1, model="textbook", smoothing=0.5),
    ]
    Pipeline(stages=stages).write().overwrite().save(str(tmp_path / "pipeline"))
    fitted = Pipeline.load(str(tmp_path / "pipeline")).fit(frame)
    fitted.write().overwrite().save(str(tmp_path / "model"))
    again = PipelineModel.load(str(tmp_path / "model"))
    assert again.stages[-1].classifier.smoothing == 0.5
    first, second = (model.transform(frame).drop("features").toArrow() for model in (fitted, again))
    assert first == second
    assert first["contributions"].type.value_type.field("log_odds").type == pa.float64()


def test_the_code_of_the_page_runs(session, path, tmp_path, monkeypatch, capsys):
    text = (ROOT / "docs" / "scale" / "spark.md").read_text(encoding="utf-8")
    text = text.replace('"pipeline"', repr(str(tmp_path / "pipeline")))
    code = [block for block in text.split("```")[1::2] if "nv_spark." in block]
    assert len(code) == 2
    monkeypatch.chdir(tmp_path)
    rows = session.read.parquet(str(path / "part-0.parquet")).limit(300).withColumnRenamed(LABEL, "species")
    names = {"frame": rows, "test": rows}
    for block in code:
        exec(block, names)
    assert "300 rows" in capsys.readouterr().out
    found = [row["answer"] for row in names["answers"].collect()]
    assert found == nv.load("model.parquet").predict(rows.toArrow()).tolist()


def test_the_example_fits_scores_and_predicts(session, path, tmp_path, monkeypatch, capsys):
    script, model = ROOT / "examples" / "spark_fit.py", tmp_path / "model.parquet"
    given = [path / "part-0.parquet", path / "part-1.parquet", tmp_path / "out", "--target", LABEL, "--model", model]
    monkeypatch.setattr(sys, "argv", [str(script), *map(str, given)])
    runpy.run_path(str(script), run_name="__main__")
    assert "30000 rows" in capsys.readouterr().out
    assert nv.load(model).classes_.tolist() == ["high", "low", "middle"]
    assert session.read.parquet(str(tmp_path / "out" / "answers")).count() == 30_000


@pytest.mark.slow
def test_spark_connect_gives_the_same(tmp_path):
    pytest.importorskip("grpc", reason="grpcio is not installed, which Spark Connect needs")
    pq.write_table(mixed_table(6_000), tmp_path / "rows.parquet")
    command = [sys.executable, "-c", CONNECTED, str(tmp_path / "rows.parquet"), str(tmp_path / "more")]
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=3600, check=False)
    assert "connected" in done.stdout, done.stderr[-3000:]

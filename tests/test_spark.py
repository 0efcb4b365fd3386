"""Naively on Spark, in one session; Connect and a killed executor have programs of their own."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import naively as nv
from naively.errors import InvalidInput, InvalidSetting
from naively.judge.histograms import ScoreSums

from .spark_cases import CONNECTED, KILLED, mixed_table, text_table

pyspark = pytest.importorskip("pyspark", reason="PySpark is not installed")

from naively import spark as nv_spark  # noqa: E402

HAS_JAVA = shutil.which("java") is not None or Path(os.environ.get("JAVA_HOME", "/nowhere"), "bin/java").exists()
pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(not HAS_JAVA, reason="Java is not installed, which Spark needs"),
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),  # sockets of Py4J
]
LABEL = "label"


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    """Return the one session of Spark that all tests share."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    found = builder.config("spark.sql.shuffle.partitions", "2").config("spark.driver.memory", "1g").getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    yield found
    found.stop()


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Return more rows than are kept whole, so that the model depends on which rows are sampled."""
    return mixed_table(24_000)


@pytest.fixture(scope="module")
def path(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the same rows as Parquet files of several row groups."""
    folder = tmp_path_factory.mktemp("rows")
    for number in range(2):
        part = table.slice(number * 12_000, 12_000)
        pq.write_table(part, folder / f"part-{number}.parquet", row_group_size=3_500)
    return folder


@pytest.fixture(scope="module")
def alone(table: pa.Table) -> dict[str, nv.NaiveBayes]:
    """Return the models of one process."""
    return {model: nv.NaiveBayes(model=model).fit(table, target=LABEL) for model in ("textbook", "auto")}


# -- equality ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "partitions", [pytest.param(1, marks=pytest.mark.slow), 3, pytest.param(17, marks=pytest.mark.slow)]
)
def test_any_partitions_give_the_model_of_one_process(
    partitions: int, session: Any, path: Path, table: pa.Table, alone: dict[str, nv.NaiveBayes]
) -> None:
    from pyspark.sql.functions import rand

    frame = session.read.parquet(str(path))
    shuffled = frame.orderBy(rand(partitions)) if partitions == 3 else frame
    rows = shuffled.repartition(partitions, "colour") if partitions == 17 else shuffled.repartition(partitions)
    some = table.slice(0, 2_000)
    for model, one in alone.items():
        found = nv_spark.fit(rows, target=LABEL, model=model)
        assert (found.predict(some) == one.predict(some)).all()
        gap = np.abs(found.predict_proba(some) - one.predict_proba(some)).max()
        assert gap <= (1e-12 if model == "textbook" else 1e-9)
        if model == "textbook":
            assert found.counts_ == one.counts_


def test_plain_files_give_the_model_of_one_process(
    session: Any, path: Path, table: pa.Table, alone: dict[str, nv.NaiveBayes]
) -> None:
    names = [name for name in table.column_names if name != "day"]
    one = nv.NaiveBayes().fit(table.select(names), target=LABEL)
    frame = session.read.parquet(str(path)).select(*names)
    found = nv_spark.fit(frame, target=LABEL)
    assert np.abs(found.predict_proba(table) - one.predict_proba(table)).max() <= 1e-9
    by_path = nv_spark.count(path, target=LABEL, ignore=["day"], session=session)
    assert by_path == nv.count(table.select(names), target=LABEL)


def test_texts_weights_and_many_classes_are_counted_as_in_one_process(session: Any) -> None:
    table = text_table(3_000, 40)
    frame = session.createDataFrame(table).repartition(5, "shop")
    settings = {"families": {"note": "words"}, "unlabelled": "skip"}
    for model in ("textbook", "auto"):
        one = nv.NaiveBayes(model=model, **settings).fit(table, target=LABEL, sample_weight="times")
        found = nv_spark.fit(frame, target=LABEL, weight="times", model=model, **settings)
        assert found.counts_.rows.tolist() == one.counts_.rows.tolist()
        assert np.abs(found.predict_proba(table) - one.predict_proba(table)).max() <= 1e-9
    counts = nv_spark.count(frame, target=LABEL, schema={"note": "words"}, weight="times", unlabelled="skip")
    assert counts == nv.count(table, target=LABEL, schema={"note": "words"}, weight="times", unlabelled="skip")


def test_bins_are_cut_by_the_same_sample(session: Any, table: pa.Table, path: Path) -> None:
    one = nv.count(table, target=LABEL, schema={"x": "bins"})
    assert nv_spark.count(session.read.parquet(str(path)), target=LABEL, schema={"x": "bins"}) == one


def test_counts_of_days_add(session: Any, table: pa.Table) -> None:
    first, second = table.slice(0, 500), table.slice(500, 700)
    model = nv.NaiveBayes(model="textbook").fit(first, target=LABEL)
    frame = session.createDataFrame(second)
    more = nv_spark.count(frame, target=LABEL, schema=model.schema_)
    assert model.counts_ + more == nv.count(table.slice(0, 1_200), target=LABEL)


# -- plain reads of files ----------------------------------------------------------------------------------------------


def test_only_plain_reads_are_read_by_tasks(session: Any, path: Path) -> None:
    from naively.spark.rows import spark_rows

    frame = session.read.parquet(str(path)).drop("day")
    plain = {
        "a folder": frame,
        "some columns": session.read.parquet(str(path)).select("x", LABEL),
        "a file": session.read.parquet(str(path / "part-0.parquet")).drop("day"),
        "files": session.read.parquet(*(str(path / f"part-{n}.parquet") for n in range(2))).drop("day"),
        "a pattern": session.read.parquet(f"{path}/*.parquet").drop("day"),
    }
    computed = {
        "a filter": frame.filter("x > 0"),
        "another column": frame.withColumn("more", frame["x"] * 2),
        "another name": frame.withColumnRenamed("x", "y"),
        "all rows twice": frame.union(frame),
        "some rows": frame.limit(10),
        "a sample": frame.sample(0.5, seed=1),
        "a time": session.read.parquet(str(path)),  # files of other programs may mean another calendar
        "rows in memory": session.createDataFrame(pa.table({"x": [1.0], LABEL: ["low"]})),
    }
    for name, one in plain.items():
        assert spark_rows(one, None)[0].files is not None, name
    for name, one in computed.items():
        assert spark_rows(one, None)[0].files is None, name


def test_folders_that_are_columns_are_read_by_spark(session: Any, tmp_path: Path) -> None:
    for year in (2023, 2024):
        (tmp_path / f"year={year}").mkdir()
        pq.write_table(pa.table({"x": [1.0, 2.0], LABEL: ["a", "b"]}), tmp_path / f"year={year}" / "rows.parquet")
    counts = nv_spark.count(session.read.parquet(str(tmp_path)), target=LABEL)
    assert set(counts.columns) == {"x", "year"}
    assert counts.rows.tolist() == [2, 2]


def test_files_of_other_types_are_read_by_spark(session: Any, tmp_path: Path) -> None:
    pq.write_table(pa.table({"x": [1.0, 2.0], LABEL: ["a", "b"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({LABEL: ["a", "a"]}), tmp_path / "b.parquet")  # Spark reads x as missing there
    frame = session.read.schema(f"x double, {LABEL} string").parquet(str(tmp_path))
    plain = session.read.parquet(str(tmp_path))
    for rows in (frame, plain):
        counts = nv_spark.count(rows, target=LABEL)
        assert counts.rows.tolist() == [3, 1]
        assert counts == nv.count(rows.toArrow(), target=LABEL)


# -- answers and scores ------------------------------------------------------------------------------------------------


def test_answers_are_those_of_one_process(session: Any, path: Path, alone: dict[str, nv.NaiveBayes]) -> None:
    nb = alone["auto"]
    plain = session.read.parquet(str(path / "part-0.parquet"))
    for frame in (plain.limit(300), plain.drop("day").filter("x is null or x > -1e9"), plain):
        if "day" not in frame.columns:
            nb = nv.NaiveBayes(model="textbook").fit(frame.toArrow(), target=LABEL)
        found = nv_spark.predict(nb, frame, probabilities=True).toArrow()
        rows = found.select(frame.columns)
        expected = nb.predict_proba(rows)
        assert found["answer"].to_pylist() == nb.predict(rows).tolist()
        for k, label in enumerate(nb.classes_):
            assert (found[f"P({label})"].to_numpy() == expected[:, k]).all()
        assert (found["probability"].to_numpy() == expected.max(axis=1)).all()
        assert rows.num_rows == frame.count()
        nb = alone["auto"]


def test_contributions_are_the_strongest_of_the_evidence(session: Any, table: pa.Table) -> None:
    some = table.slice(0, 20)
    nb = nv.NaiveBayes(model="textbook").fit(table, target=LABEL)
    frame = nv_spark.predict(nb, session.createDataFrame(some), contributions=2, prefix="new_")
    assert frame.columns[-3:] == ["new_answer", "new_probability", "new_contributions"]
    evidence = nb.explain(some)
    places = np.arange(len(some))
    leads = evidence.scores[places, :, evidence.answer] - evidence.scores[places, :, evidence.against]
    for row, lead in zip(frame.toArrow().to_pylist(), leads, strict=True):
        told = {one["column"]: one["log_odds"] for one in row["new_contributions"]}
        order = np.argsort(-np.abs(lead), kind="stable")[:2]
        assert list(told) == [evidence.columns[at] for at in order]
        assert list(told.values()) == pytest.approx(lead[order].tolist())


def test_unseen_values_and_other_columns_do_no_harm(session: Any) -> None:
    from pyspark.sql.functions import array, lit

    nb = nv.NaiveBayes().fit({"colour": ["red", "blue"] * 4}, [1, 2] * 4)
    frame = session.createDataFrame([("red",), ("pink",), (None,)], "colour string")
    frame = frame.withColumn("list", array(lit(1), lit(2))).repartition(8)
    found = nv_spark.predict(nb, frame, probabilities=True)
    assert dict(found.dtypes)["answer"] == "bigint"
    answers = {row["colour"]: row for row in found.collect()}
    assert answers["red"]["answer"] == 1
    assert answers["pink"]["P(1)"] == pytest.approx(0.5)
    assert answers[None]["list"] == [1, 2]


def test_scores_are_those_of_one_process(session: Any, table: pa.Table, alone: dict[str, nv.NaiveBayes]) -> None:
    weights = pa.array(np.random.default_rng(2).integers(0, 3, 4_000))
    some = table.slice(0, 4_000).append_column("times", weights)
    frame = session.createDataFrame(some).repartition(3)
    costly = nv.NaiveBayes(model="textbook", cost={("low", "high"): 3.0}, reject=0.4).fit(table, target=LABEL)
    for nb in (alone["auto"], costly):
        for weight in (None, "times"):
            found = nv_spark.evaluate(nb, frame, target=LABEL, weight=weight)
            w = None if weight is None else some["times"].to_numpy()
            truth = some[LABEL].to_pylist()
            scores = nv.Scores(nb.predict_proba(some), truth, nb.classes_, w, nb.cost, nb.reject)
            for name in ("rows", "coverage", "accuracy", "balanced_accuracy", "mean_cost", "log_loss", "brier"):
                assert getattr(found, name) == pytest.approx(getattr(scores, name), rel=1e-12), name
            assert found.calibration_error == pytest.approx(scores.calibration_error, rel=1e-9)
            assert abs(found.auc - scores.auc) <= found.auc_error < 1e-3
            assert (
                found.confusion[:, : len(scores.choices)].tolist()
                == scores.confusion[:, : len(scores.choices)].tolist()
            )
            for name in ("accuracy", "log_loss", "brier", "mean_cost"):
                assert found.spread[name] == pytest.approx(scores.spread[name], rel=1e-9), name


def test_a_class_that_the_model_never_saw_is_scored_as_one() -> None:
    first = nv.Scores([[0.9, 0.1], [0.2, 0.8]], [0, 1], (0, 1))
    second = nv.Scores([[0.6, 0.4, 0.0]], [5], (0, 1, 5))
    both = ScoreSums.of(first) + ScoreSums.of(second)
    whole = nv.Scores([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0], [0.6, 0.4, 0.0]], [0, 1, 5], (0, 1, 5))
    assert both.classes == (0, 1, 5)
    assert both.auc == pytest.approx(whole.auc)
    assert both.log_loss == pytest.approx(whole.log_loss)
    assert both.accuracy == whole.accuracy


# -- errors ------------------------------------------------------------------------------------------------------------


def test_rows_without_a_label_are_refused_or_skipped(session: Any) -> None:
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


def test_columns_that_cannot_be_counted_are_named(session: Any) -> None:
    from pyspark.ml.linalg import Vectors
    from pyspark.sql.functions import array, lit

    frame = session.createDataFrame([("red", "a")], f"colour string, {LABEL} string")
    nested = frame.withColumn("list", array(lit(1)))
    with pytest.raises(InvalidInput, match=r"'list' holds array<int>.*ignore=\['list'\]") as caught:
        nv_spark.count(nested, target=LABEL)
    assert caught.value.column == "list"
    assert nv_spark.count(nested, target=LABEL, ignore=["list"]).rows.tolist() == [1]
    vectors = session.createDataFrame([(Vectors.dense([1.0]), "a")], ["features", LABEL])
    with pytest.raises(InvalidInput, match=r"vectors of pyspark.ml.*vector_to_array"):
        nv_spark.fit(vectors, target=LABEL)


def test_errors_say_what_to_do(session: Any, tmp_path: Path) -> None:
    frame = session.createDataFrame([("red", "a")], f"colour string, {LABEL} string")
    with pytest.raises(InvalidInput, match="no column 'lable'; did you mean 'label'"):
        nv_spark.fit(frame, target="lable")
    with pytest.raises(InvalidInput, match="2 columns are called 'colour'"):
        nv_spark.fit(frame.select("colour", "colour", LABEL), target=LABEL)
    with pytest.raises(InvalidInput, match="no rows"):
        nv_spark.fit(frame.limit(0), target=LABEL)
    with pytest.raises(InvalidInput, match="no column to learn from"):
        nv_spark.fit(frame.select(LABEL), target=LABEL)
    with pytest.raises(InvalidInput, match="Rows in memory need no Spark"):
        nv_spark.fit({"colour": ["red"]}, target=LABEL)
    with pytest.raises(InvalidSetting, match="takes a table in memory"):
        nv_spark.fit(frame, target=LABEL, unlabelled="em", estimate="map")
    nb = nv.NaiveBayes().fit({"colour": ["red", "blue"], "size": [1, 2]}, ["a", "b"])
    with pytest.raises(InvalidInput, match="no column 'size'"):
        nv_spark.predict(nb, frame)
    nb = nv.NaiveBayes().fit({"colour": ["red", "blue"]}, ["a", "b"])
    with pytest.raises(InvalidInput, match=r"a column 'answer' already.*prefix"):
        nv_spark.predict(nb, frame.withColumnRenamed(LABEL, "answer"))


# -- pipelines and examples --------------------------------------------------------------------------------------------


def test_a_pipeline_is_saved_and_loaded(session: Any, table: pa.Table, tmp_path: Path) -> None:
    from pyspark.ml import Pipeline, PipelineModel
    from pyspark.ml.feature import SQLTransformer, VectorAssembler

    frame = session.createDataFrame(table.slice(0, 600).drop(["day", "price"]))
    stages = [
        SQLTransformer(statement="select *, coalesce(visits, 0) as known from __THIS__"),
        VectorAssembler(inputCols=["known"], outputCol="features"),
        nv_spark.SparkClassifier(LABEL, ignore=["features"], contributions=1, model="textbook", smoothing=0.5),
    ]
    pipeline = Pipeline(stages=stages)
    pipeline.write().overwrite().save(str(tmp_path / "pipeline"))
    fitted = Pipeline.load(str(tmp_path / "pipeline")).fit(frame)
    fitted.write().overwrite().save(str(tmp_path / "model"))
    again = PipelineModel.load(str(tmp_path / "model"))
    assert again.stages[-1].classifier.smoothing == 0.5
    first, second = (model.transform(frame).drop("features").toArrow() for model in (fitted, again))
    assert first == second
    assert first["contributions"].type.value_type.field("log_odds").type == pa.float64()


def test_stages_refuse_settings_that_cannot_be_saved() -> None:
    with pytest.raises(InvalidInput, match="must be texts, numbers, lists or dicts"):
        nv_spark.SparkClassifier(LABEL, families={"visits": nv.Poisson()})
    with pytest.raises(InvalidInput, match="This model is empty"):
        _ = nv_spark.SparkClassifierModel().classifier


def test_the_code_of_the_page_runs(
    session: Any, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = Path(__file__).parent.parent / "docs" / "scale" / "spark.md"
    text = page.read_text(encoding="utf-8").replace('"pipeline"', repr(str(tmp_path / "pipeline")))
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


def test_the_example_fits_scores_and_answers(
    session: Any, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = Path(__file__).parent.parent / "examples" / "spark_fit.py"
    model = tmp_path / "model.parquet"
    given = [path / "part-0.parquet", path / "part-1.parquet", tmp_path / "out", "--target", LABEL, "--model", model]
    monkeypatch.setattr(sys, "argv", [str(script), *map(str, given)])
    runpy.run_path(str(script), run_name="__main__")
    assert "12000 rows" in capsys.readouterr().out
    assert nv.load(model).classes_.tolist() == ["high", "low", "middle"]
    assert session.read.parquet(str(tmp_path / "out" / "answers")).count() == 12_000


@pytest.mark.slow
@pytest.mark.parametrize(("program", "said"), [(CONNECTED, "connected"), (KILLED, "same counts after a kill")])
def test_connect_and_a_killed_executor_give_the_same(program: str, said: str, tmp_path: Path) -> None:
    pytest.importorskip("grpc", reason="grpcio is not installed, which Spark Connect needs")
    pq.write_table(mixed_table(6_000), tmp_path / "rows.parquet")
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "rows.parquet"), str(tmp_path / "more")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=3600,
        check=False,
    )
    assert said in done.stdout, done.stderr[-3000:]

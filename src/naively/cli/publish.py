"""Commands that give a model to others: ``naively report``, ``export`` and ``serve``."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import click

from .._progress import ProgressBar
from ..errors import NotInstalled
from . import arguments, options
from .arguments import OptionValues
from .options import COUNT, Common, Group, option
from .render import printable

LANGUAGE = option(
    "--language",
    "Language of the page: English or Chinese.",
    type=click.Choice(["en", "zh"]),
    default="en",
    show_default=True,
)


@options.command(
    "report",
    """Examples:
  naively report income.parquet -o report.html
  naively report income.parquet test.csv -o report.html --rows 50
  naively report june.parquet --compare may.parquet -o report.html
""",
    options.MODEL,
    click.Argument(["files"], nargs=-1, metavar="[FILE]..."),
    option("--out -o FILE", "HTML file to write.", type=click.Path(), required=True),
    option(
        "--rows N",
        "Rows to hold, at most: the most surprising ones and others spread over the files. 0 holds none.",
        type=click.IntRange(0),
        default=200,
        show_default=True,
    ),
    option(
        "--words N",
        "Words of each text column to hold, the commonest; by default 600,000 divided by the number of classes.",
        type=click.IntRange(0),
    ),
    option("--compare MODEL", "An earlier model; shows what has changed since.", type=click.Path()),
    option("--title TEXT", "Title of the page; by default the name of the model file."),
    LANGUAGE,
    option("--open", "Open the file in the browser.", name="show", is_flag=True),
    options.TARGET,
    options.WEIGHT,
    options.DECISIONS,
    *options.READING_ROWS,
)
def report_command(
    common: Common,
    out: str,
    rows: int,
    words: int | None,
    compare: str | None,
    title: str | None,
    language: str,
    show: bool,
) -> None:
    """Write a model as one HTML file.

    The file needs no network and no server. It shows what the model learned and how good it is, and scores any row
    that is typed in exactly as `naively predict` does, with the contribution of each column. FILE is rows of known or
    unknown classes to look at; their classes are in the model's target, or --target. Rows that the model was fitted on
    are each scored without themselves. The file holds the labels and words of the model, and up to --rows rows.
    """
    from ..estimator.html_report import ReportOptions, report_of, row_source

    fitted, name = common.load(), Path(common.model).name
    file = source = None
    if common.files:
        file = common.file()
        target = None if common.target is None else arguments.resolve_column(file, common.target)
        source = row_source(fitted, file, None, target, common.weight_column(file))
    elif common.target is not None or common.weight is not None:
        named = "--weight" if common.target is None else "--target"
        raise click.UsageError(f"{named} names a column of files; give files, or leave it out.")
    other = None
    if compare is not None:
        other = (arguments.load_with_settings(compare, common.settings), Path(compare).name, name)
    arguments.refuse_overwriting(out, file, common.model, *([compare] if compare else []))
    with ProgressBar("Predicting", common.quiet or not common.files) as bar:
        report = report_of(fitted, source, ReportOptions(rows, words, title or name, language), other, bar)
    size = report.save(out).stat().st_size
    text = f"Wrote {printable(out)}, {size / 1000:,.0f} KB. Open it in any browser."
    common.finish({"out": out, "bytes": size}, text, err=True)
    if show:
        webbrowser.open(Path(out).resolve().as_uri())


# The formats that an option is for, where it is not for all.
FORMATS_OF = dict.fromkeys(("dialect", "table", "keep", "prefix", "probabilities"), ("sql",)) | dict.fromkeys(
    ("words", "single"), ("javascript", "json")
)


@options.command(
    "export",
    """Examples:
  naively export income.parquet -o income.onnx
  naively export income.parquet -o income.sql --dialect postgres --table people --keep id
  naively export income.parquet -o income.pmml
  naively export income.parquet -o income.mjs
  naively export income.parquet -o - --format sql | duckdb income.duckdb
""",
    options.MODEL,
    option(
        "--out -o FILE",
        "File to write: .onnx, .sql, .pmml, .js, .mjs or .json; - is stdout.",
        type=click.Path(),
        required=True,
    ),
    option(
        "--format",
        "Format to write; by default by the file extension.",
        name="form",
        type=click.Choice(["onnx", "sql", "pmml", "javascript", "json"]),
    ),
    Group(
        "of_format",
        (
            option(
                "--dialect",
                "Database that SQL is written for. Default: duckdb.",
                type=click.Choice(["duckdb", "postgres", "sqlite", "bigquery"]),
            ),
            option("--table NAME", "Table that SQL reads the rows from. Default: rows."),
            option("--keep COLUMN", "Column of the table that SQL carries through. Repeatable.", multiple=True),
            option("--prefix TEXT", "Prefix of the names of the columns that SQL adds."),
            option(
                "--probabilities/--no-probabilities",
                "Whether SQL adds the probability of each class: P(yes), P(no), … Default: it does.",
                name="probabilities",
                default=None,
            ),
            option(
                "--words N",
                "Words of each text column that JavaScript and JSON hold, the commonest. Default: all.",
                type=click.IntRange(0),
            ),
            option(
                "--single",
                "Round the tables of JavaScript and JSON to single precision: half the size, probabilities within "
                "0.000001.",
                is_flag=True,
                default=None,
            ),
        ),
    ),
    # Costs choose an answer by the probabilities; a format holds the probabilities alone.
    Group("settings", tuple(one for one in options.SETTINGS if one.name not in ("cost", "reject"))),
    options.QUIET,
    options.JSON,
)
def export_command(common: Common, out: str, form: str | None, of_format: OptionValues) -> None:
    """Write a model as a file that other programs score rows with.

    ONNX, PMML and SQL hold models of numbers and labels; JavaScript and JSON hold texts, too. All give the
    probabilities of `naively predict`, and the most probable class as the answer. The output file appears only when it
    is complete.
    """
    from ..estimator.reports import flattened
    from ..export import WRITERS, format_of

    if out == "-":
        if form is None:
            raise click.UsageError("stdout has no file extension; name the format by --format, such as --format sql.")
        if form == "onnx":
            raise click.UsageError("ONNX is no text; write it to a file: -o model.onnx.")
        if common.as_json:
            raise click.UsageError("--json and the model cannot both go to stdout; write the model to a file by -o.")
    form = format_of(out, form)
    for name in of_format:
        if form not in FORMATS_OF[name]:
            formats = " and ".join(FORMATS_OF[name])
            raise click.UsageError(f"--{name} is an option for {formats}; leave it out for {form}.")
    arguments.refuse_overwriting(out, None, common.model)
    fitted = common.load()
    flat = flattened(fitted, of_format.pop("words", None))
    how = {name: list(value) if name == "keep" else value for name, value in of_format.items()}
    written = WRITERS[form](flat, None if out == "-" else out, **how)
    if out == "-":
        click.echo(written)
    if not common.quiet and (fitted.parameters.cost is not None or fitted.parameters.reject is not None):
        click.echo("Note: the costs of the model are not exported; the answer is the most probable class.", err=True)
    if out != "-":
        size = Path(out).stat().st_size
        text = f"Wrote {printable(out)}, {size / 1000:,.0f} KB."
        common.finish({"out": out, "format": form, "bytes": size}, text, err=True)


@options.command(
    "serve",
    """Examples:
  naively serve income.parquet
  naively serve income.parquet churn.parquet --port 8001
  NAIVELY_TOKEN=… naively serve income.parquet --host 0.0.0.0
  naively serve income.parquet --learn income.wal
""",
    options.MODELS,
    Group(
        "settings",
        (
            option(
                "--host ADDRESS",
                "Address to listen on. Default: 127.0.0.1, which nobody but this machine reaches; others need --token.",
            ),
            option("--port N", "Port; 0 is any that is free. Default: 8000.", type=click.IntRange(0, 65535)),
            option(
                "--token TEXT",
                "Token that requests need. The environment variable NAIVELY_TOKEN keeps it out of lists of processes.",
                envvar="NAIVELY_TOKEN",
            ),
            option(
                "--allow-host NAME",
                "More names that this server has, as behind a proxy. Repeatable.",
                name="allow_hosts",
                multiple=True,
            ),
            option(
                "--learn PATH",
                "Learn and forget rows by POST /learn and /forget. They are written to this file first; with "
                "several models to a file in this folder.",
                type=click.Path(path_type=Path),
            ),
            option(
                "--save-every SECONDS",
                "With --learn: save the model in its file every so many seconds, and on shutdown.",
                type=click.FloatRange(0, min_open=True),
            ),
            option(
                "--new-classes", "With --learn: also learn rows of classes that the model does not know.", is_flag=True
            ),
            option(
                "--rebase", "With --learn: count rows that were learned over another model over this one.", is_flag=True
            ),
            LANGUAGE,
            option("--log FILE", "File of the log, as JSON lines. Default: stderr.", type=click.Path(path_type=Path)),
            option("--max-body BYTES", "Most bytes of a JSON request. Default: 8 MiB.", name="body", type=COUNT),
            option("--max-rows N", "Most rows of a JSON request. Default: 10,000.", name="rows", type=COUNT),
            option("--max-file BYTES", "Most bytes of an upload. Default: 1 GiB.", name="file", type=COUNT),
            option("--max-uploads N", "Most uploads at once. Default: 2.", name="uploads", type=COUNT),
            option(
                "--timeout SECONDS",
                "Cut off clients that send or take nothing for so long. Default: 10.",
                type=click.FloatRange(0, min_open=True),
            ),
            option("--quiet -q", "Log only requests that failed.", is_flag=True),
        ),
    ),
)
def serve_command(common: Common, models: tuple[str, ...]) -> None:
    """Serve models: a page, and a JSON API for programs.

    The page shows the model and answers rows; files of rows can be uploaded. The API is under /api/v1 and described by
    /api/v1/openapi.json. Needs the extra `naively[serve]`. Ctrl-C and SIGTERM end the server when all requests are
    answered. A model file that is replaced is loaded anew.
    """
    try:
        import uvicorn  # noqa: F401
    except ModuleNotFoundError:
        raise NotInstalled("The server is made by uvicorn", "serve") from None
    from ..server.guard import ServerSettings
    from ..server.running import serve_models

    given = {"token": None, **common.settings}
    if "learn" not in given and ("save_every" in given or given["new_classes"] or given["rebase"]):
        raise click.UsageError("--save-every, --new-classes and --rebase are about learned rows; give --learn, too.")
    paths = [Path(model) for model in models]
    names = ", ".join(printable(path.name) for path in paths)
    serve_models(
        paths,
        ServerSettings(**given | {"token": given["token"] or None}),
        lambda address: click.echo(f"Serving {names} at {address} (stop: Ctrl-C)"),
    )

"""``naively serve``: a page and a JSON API for models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from ..errors import NotInstalled
from . import options
from .render import printable

EXAMPLE = """\b
Examples:
  naively serve income.parquet
  naively serve income.parquet churn.parquet --port 8001
  NAIVELY_TOKEN=… naively serve income.parquet --host 0.0.0.0
  naively serve income.parquet --learn income.wal
"""


@click.command("serve", epilog=EXAMPLE)
@click.argument("models", nargs=-1, required=True, type=click.Path(), metavar="MODEL...")
@click.option(
    "--host",
    default="127.0.0.1",
    metavar="ADDRESS",
    help="Address to listen on. Default: 127.0.0.1, which nobody but this machine reaches; others need --token.",
)
@click.option(
    "--port",
    default=8000,
    type=click.IntRange(0, 65535),
    metavar="N",
    help="Port; 0 is any that is free. Default: 8000.",
)
@click.option(
    "--token",
    envvar="NAIVELY_TOKEN",
    metavar="TEXT",
    help="Token that requests need. The environment variable NAIVELY_TOKEN keeps it out of lists of processes.",
)
@click.option(
    "--allow-host",
    multiple=True,
    metavar="NAME",
    help="More names that this server has, as behind a proxy. Repeatable.",
)
@click.option(
    "--learn",
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="Learn and forget rows by POST /learn and /forget. They are written to this file first; with several models "
    "to a file in this folder.",
)
@click.option(
    "--save-every",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="With --learn: save the model in its file so often, beside at the end.",
)
@click.option(
    "--new-classes", is_flag=True, help="With --learn: also learn rows of classes that the model does not know."
)
@click.option(
    "--rebase", is_flag=True, help="With --learn: count rows that were learned over another model over this one."
)
@click.option(
    "--language",
    type=click.Choice(["en", "zh"]),
    default="en",
    show_default=True,
    help="Language of the page: English or Chinese.",
)
@click.option(
    "--log", type=click.Path(path_type=Path), metavar="FILE", help="File of the log, as JSON lines. Default: stderr."
)
@click.option(
    "--max-body", type=click.IntRange(1), metavar="BYTES", help="Most bytes of a JSON request. Default: 8 MiB."
)
@click.option("--max-rows", type=click.IntRange(1), metavar="N", help="Most rows of a JSON request. Default: 10,000.")
@click.option("--max-file", type=click.IntRange(1), metavar="BYTES", help="Most bytes of an upload. Default: 1 GiB.")
@click.option("--max-uploads", type=click.IntRange(1), metavar="N", help="Most uploads at once. Default: 2.")
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Cut off clients that send or take nothing for so long. Default: 10.",
)
@click.option("--quiet", "-q", is_flag=True, help="Log only requests that failed.")
@options.DEBUG
def serve_command(
    models: tuple[str, ...],
    host: str,
    port: int,
    token: str | None,
    allow_host: tuple[str, ...],
    learn: Path | None,
    save_every: float | None,
    new_classes: bool,
    rebase: bool,
    language: str,
    log: Path | None,
    max_body: int | None,
    max_rows: int | None,
    max_file: int | None,
    max_uploads: int | None,
    timeout: float | None,
    quiet: bool,
) -> None:
    """Serve models: a page, and a JSON API for programs.

    The page shows the model and answers rows; files of rows can be uploaded. The API is under /api/v1 and described by
    /api/v1/openapi.json. Needs the extra `naively[serve]`. Ctrl-C and SIGTERM end the server when all requests are
    answered. A model file that is replaced is loaded anew.
    """
    try:
        from ..server import running
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("anyio", "starlette", "uvicorn"):
            raise
        raise NotInstalled("The server is made by Starlette and uvicorn", "serve") from None
    if learn is None and (save_every is not None or new_classes or rebase):
        raise click.UsageError("--save-every, --new-classes and --rebase are about learned rows; give --learn, too.")
    given: options.OptionValues = {"body": max_body, "rows": max_rows, "file": max_file, "uploads": max_uploads}
    seconds = {"header_seconds": timeout, "stalled_seconds": timeout}
    changed = {name: value for name, value in (given | seconds).items() if value is not None}
    settings = running.ServerSettings(
        host=host,
        port=port,
        token=token or None,
        allow_hosts=allow_host,
        learn=learn,
        save_every=save_every,
        rebase=rebase,
        new_classes=new_classes,
        language=language,
        log=log,
        quiet=quiet,
        limits=replace(running.ServerSettings().limits, **changed),
    )
    names = ", ".join(printable(Path(model).name) for model in models)
    running.serve_models(
        [Path(model) for model in models],
        settings,
        lambda address: click.echo(f"Serving {names} at {address} (stop: Ctrl-C)"),
    )

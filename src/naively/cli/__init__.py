"""The command line: a file in, a model and answers out. Each command makes one call of the library.

What a command needs is imported when it runs, so that ``naively --help`` answers at once.
"""

from __future__ import annotations

import click

from .. import __version__
from . import evaluate, explain, fit, forget, merge, predict, show
from .exits import Program

WAY = """\b
From a file to an answer:
  naively fit train.csv --target income -o income.parquet
  naively predict income.parquet new.csv -o answers.csv
\b
How good is it, and why does it say that?
  naively evaluate income.parquet test.csv
  naively explain income.parquet new.csv --row 3
\b
A model is a table of counts:
  naively show income.parquet
  naively merge monday.parquet tuesday.parquet -o week.parquet
  naively forget week.parquet leavers.csv -o week2.parquet
"""


@click.group(cls=Program, epilog=WAY, context_settings={"help_option_names": ["-h", "--help"]}, no_args_is_help=False)
@click.version_option(__version__, message="naively %(version)s")
def main() -> None:
    """Naive Bayes for files as they are: texts beside numbers, holes included, larger than memory."""


for module in (fit, predict, evaluate, explain, show, merge, forget):
    main.add_command(module.command)

__all__ = ["main"]

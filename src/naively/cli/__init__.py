"""The command line. Each command makes one call of the library; its options come in, text, JSON and files go out.

May import everything; what a command needs is imported when it runs, so that ``naively --help`` is fast.
"""

from __future__ import annotations

import click

from .. import __version__
from .exits import Program
from .fit import fit_command
from .models import forget_command, merge_command, show_command
from .publish import export_command, report_command, serve_command
from .rows import evaluate_command, explain_command, predict_command

EXAMPLES = """\b
Fit a model and predict the classes of new rows:
  naively fit train.csv --target income -o income.parquet
  naively predict income.parquet new.csv -o answers.csv
\b
Score a model on a test set, and explain a prediction:
  naively evaluate income.parquet test.csv
  naively explain income.parquet new.csv --row 3
\b
Write a model as one HTML file, to look at it offline in a browser:
  naively report income.parquet test.csv -o report.html
\b
Write a model as a file that other programs score rows with:
  naively export income.parquet -o income.sql
\b
Show, merge and update models, which are tables of counts:
  naively show income.parquet
  naively merge monday.parquet tuesday.parquet -o week.parquet
  naively forget week.parquet leavers.csv -o week2.parquet
\b
Serve a page and a JSON API:
  naively serve income.parquet
"""


@click.group(
    cls=Program,
    epilog=EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"]},
    commands=[
        fit_command,
        predict_command,
        evaluate_command,
        explain_command,
        report_command,
        export_command,
        show_command,
        merge_command,
        forget_command,
        serve_command,
    ],
)
@click.version_option(__version__, message="naively %(version)s")
def main() -> None:
    """Naive Bayes for tables and texts, with missing values, in files of any size."""

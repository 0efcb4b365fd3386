"""Make what the tool itself tells: docs/commands.md from its help texts, docs/images from what it prints and draws."""

from __future__ import annotations

import io
import re
import sys
import tempfile
import textwrap
from contextlib import chdir, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import altair as alt
import click
from naively.commands import fit, main
from rich.console import Console
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB

import naively as nv

DOCS = Path(__file__).resolve().parent
PAGE, IMAGES = DOCS / "commands.md", DOCS / "images"
PICTURE = IMAGES / "fit.svg"

INTRODUCTION = """\
# The commands

`naively` alone shows the way from a file to an answer, `naively COMMAND --help` what a command takes. This page is made
of the same texts by `python docs/make.py`. New here? [From a CSV to an answer in five minutes](five-minutes.md).
"""
FIELDS = {
    "fit": (
        "`rows`, `target`, `classes` (`class`, `rows`), `columns` (`name`, `holds`, `family`, `written`, `missing`, "
        "`bits`), `missing` (cells), `unlabelled` (rows skipped), `missing_markers` (by column), "
        "`set_aside` (columns), `notes`, `read` and `kept` (files), `seconds`, `smoothing` and "
        "`temperature` (in effect), "
        "`scores` (as of `evaluate`, without `reliability`; null without folds), `textbook_scores` (of the text book "
        "in the same folds, where columns are taken together), `passes` (how often rows were read), `model` (where it "
        "is, or null)"
    ),
    "predict": "`rows`, `out`",
    "evaluate": (
        "`rows`; of the decisions `coverage` (proportion of rows answered), `accuracy` and `balanced_accuracy` (of "
        "answered rows), `mean_cost`, `skill` (1 − mean cost / that of the baseline); of the probabilities `log_loss`, "
        "`brier`, `calibration_error`, `auc`; `spread` (standard errors of the figures), `spread_over` (`rows` or "
        "`folds`), `folds` (`fold`, `rows` and the figures of each), `baseline` (`answer`, the constant one that costs "
        "least or null for none, and the figures), `classes`, `choices` (what the columns of the confusion stand for; "
        "null is no answer), `confusion` (lines are true classes; null where answers are numbers), `notes`, "
        "`reliability` (`rows`, `said`, `right`). A figure that cannot be given is null"
    ),
    "explain": (
        "`row`, `answer`, `most_probable`, `against`, `probabilities`, `prior`, `columns` (`name`, `value`, `scores` "
        "by class; in a model with joint terms also `own` and `joint`, its parts), `leads` (what each column adds to "
        "the lead of the answer)"
    ),
    "show": (
        "`model`, `version`, `rows`, `target`, `classes`, `columns`, `notes`, `settings`; with --column `column` and "
        "`probabilities`"
    ),
    "merge": "`models`, `rows`, `model`",
    "forget": "`forgotten`, `rows`, `model`",
}
CODES = """\
## How commands end

| exit code | means |
|---|---|
| 0 | done; also when whoever read the output, such as `head`, had enough |
| 1 | bad data: a file that cannot be read, rows that cannot be counted, models that do not fit together |
| 2 | bad usage: an option that is unknown or means nothing |
| 130 | stopped by Ctrl-C, or asked to end; no part of an output is left behind |

Errors go to stderr in a line or two, with what to do; `--debug` adds where they came from. Whatever takes longer than a
second shows rows, bytes, rate and time left on stderr, if that is a terminal. A new file takes its name when it is
whole: an error leaves the old one as it was.

## What --json prints

One object on stdout. Numbers that cannot be given are null; classes keep their type.

{fields}

## Completion

The shell completes commands and options after one line in its start-up file:

| shell | file | line |
|---|---|---|
| bash | `~/.bashrc` | `eval "$(_NAIVELY_COMPLETE=bash_source naively)"` |
| zsh | `~/.zshrc` | `eval "$(_NAIVELY_COMPLETE=zsh_source naively)"` |
| fish | `~/.config/fish/config.fish` | `_NAIVELY_COMPLETE=fish_source naively \\| source` |
"""


def page() -> str:
    """Return the reference of all commands, made of their help texts."""
    fields = "\n".join(
        ["| command | fields |", "|---|---|", *(f"| `{name}` | {FIELDS[name]} |" for name in main.commands)]
    )
    parts = [INTRODUCTION, *map(section, main.commands.values()), CODES.replace("{fields}", fields)]
    return "\n".join(parts)


def section(command: click.Command) -> str:
    """Return what the help says about one command."""
    words = [p.human_readable_name for p in command.params if isinstance(p, click.Argument)]
    usage = f"naively {command.name} {' '.join(words)} [OPTIONS]"
    prose = "\n\n".join(textwrap.fill(" ".join(part.split()), 120) for part in str(command.help).split("\n\n"))
    examples = [line.strip() for line in str(command.epilog).splitlines() if line.startswith("  ")]
    rows = [line(option) for option in command.params if isinstance(option, click.Option)]
    table = "\n".join(["| option | does |", "|---|---|", *rows])
    return f"## {command.name}\n\n```\n{usage}\n```\n\n{prose}\n\n{table}\n\n```\n{chr(10).join(examples)}\n```\n"


def line(option: click.Option) -> str:
    """Return the line of one option."""
    names = ", ".join(f"`{name}`" for name in sorted([*option.opts, *option.secondary_opts], key=len))
    value = value_of(option)
    does = str(option.help).replace("|", "\\|")
    return f"| {names}{f' `{value}`' if value else ''} | {does} |"


def value_of(option: click.Option) -> str:
    """Return what an option takes."""
    if option.is_flag:
        return ""
    if isinstance(option.type, click.Choice):
        return "\\|".join(map(str, option.type.choices))
    return (option.metavar or str(option.type.name).upper()).replace("|", "\\|")


def picture() -> str:
    """Return what `naively fit` prints on a terminal, as SVG."""
    console = Console(
        record=True, width=108, file=io.StringIO(), force_terminal=True, highlight=False, markup=False, emoji=False
    )
    data, model = DOCS.parent / "examples" / "penguins.csv", "penguins.parquet"
    with patch.object(fit, "console", lambda: console), tempfile.TemporaryDirectory() as folder, chdir(folder):
        Path("penguins.csv").write_bytes(data.read_bytes())
        command = ["fit", "penguins.csv", "--target", "species", "-o", model]
        console.print(f"$ naively {' '.join(command)}", style="green")
        with suppress(SystemExit):  # every command ends the process
            main(command)
    drawn = console.export_svg(title="naively")
    return re.sub(r"terminal-\d+", "terminal", drawn)  # a name that stays when the picture does


def calibration() -> Any:
    """Return a chart of how honest the probabilities of three models are, about rows that they had not seen."""
    sets = {"digits": load_digits(return_X_y=True), "breast cancer": load_breast_cancer(return_X_y=True)}
    charts = [nv.plots.calibration(compared(*rows), least=5).properties(title=name) for name, rows in sets.items()]
    return alt.hconcat(*charts).configure_title(anchor="middle")


def compared(X: Any, y: Any) -> dict[str, nv.Scores]:
    """Return the scores of scikit-learn, of the text book and of columns taken together, all in the same folds."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    peer = cross_val_predict(GaussianNB(), X, y, cv=folds, method="predict_proba")
    return {
        "scikit-learn": nv.Scores(peer, y, range(peer.shape[1])),
        "text book": nv.cross_validate(X, y, folds=folds, model="textbook"),
        'model="auto"': nv.cross_validate(X, y, folds=folds, model="auto"),
    }


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    IMAGES.mkdir(exist_ok=True)
    PICTURE.write_text(picture(), encoding="utf-8")
    chart = calibration()
    chart.save(IMAGES / "calibration.svg")
    chart.save(IMAGES / "calibration.png", scale_factor=1.5)
    sys.stdout.write(f"wrote {PAGE.name} and the pictures in {IMAGES.name}\n")

"""Make the pictures of this folder: ``python docs/images/make_images.py`` needs the dependency group ``test``.

``fit.svg`` shows what ``naively fit`` prints on a terminal, ``calibration.svg`` the reliability diagrams of three
models on two data sets; ``waterfall.svg`` and ``columns.svg`` are charts of the penguins, and
``notebook-*.png`` their views in a notebook, which need Playwright and Chromium. tests/test_commands.py and
tests/test_plots.py compare them with the code.
"""

from __future__ import annotations

import io
import os
import pty
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import altair as alt
from rich.console import Console
from rich.text import Text
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB

import naively as nv

IMAGES = Path(__file__).resolve().parent
PENGUINS = IMAGES.parents[1] / "examples" / "penguins.csv"
WIDTH = 108
CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or "/usr/lib/chromium/chromium"


def terminal() -> str:
    """Return what `naively fit` prints on a terminal, as SVG."""
    command = ["fit", "penguins.csv", "--target", "species", "-o", "penguins.parquet"]
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, highlight=False)
    console.print(f"$ naively {' '.join(command)}", style="green")
    console.print(Text.from_ansi(printed(command)))
    drawn = console.export_svg(title="naively")
    return re.sub(
        r"terminal-\d+", "terminal", drawn
    )  # the same name each time, so that the picture changes with its text


def printed(command: list[str]) -> str:
    """Return what a command prints on a terminal of its own, with the codes of its colors."""
    ours, its = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(WIDTH), "TERM": "xterm-256color"}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "penguins.csv").write_bytes(PENGUINS.read_bytes())
        done = subprocess.Popen(
            [sys.executable, "-m", "naively", *command], cwd=folder, stdout=its, stderr=its, env=environment
        )
        os.close(its)
        text = b"".join(iter(lambda: pieces(ours), b"")).decode()
        if done.wait():
            raise SystemExit(text)
    return text.replace("\r\n", "\n").rstrip()


def pieces(terminal: int) -> bytes:
    """Return the next output of a terminal, and nothing when its program has ended."""
    try:
        return os.read(terminal, 65536)
    except OSError:  # how Linux says that the other end is closed
        return b""


def calibration() -> Any:
    """Return the reliability diagrams of three models on held-out rows of two data sets."""
    sets = {"digits": load_digits(return_X_y=True), "breast cancer": load_breast_cancer(return_X_y=True)}
    charts = [nv.plots.calibration(compared(*rows), least=5).properties(title=name) for name, rows in sets.items()]
    return alt.hconcat(*charts).configure_title(anchor="middle")


def compared(X: Any, y: Any) -> dict[str, nv.Scores]:
    """Return the scores of scikit-learn, the textbook model and the default model in the same folds."""
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    peer = cross_val_predict(GaussianNB(), X, y, cv=folds, method="predict_proba")
    return {
        "scikit-learn": nv.Scores(peer, y, range(peer.shape[1])),
        "textbook": nv.cross_validate(X, y, cv=folds, model="textbook"),
        'model="auto"': nv.cross_validate(X, y, cv=folds, model="auto"),
    }


def penguin_charts() -> dict[str, Any]:
    """Return the charts of one penguin, and of the columns of all, by the names of their files."""
    nb, penguin = penguin_model()
    return {
        "waterfall.svg": nv.plots.waterfall(nb.explain(penguin)),
        "columns.svg": nv.plots.columns(nb, ["flipper_length_mm", "island"]),
    }


def penguin_model() -> tuple[nv.NaiveBayes, dict[str, Any]]:
    """Return a model of the penguins, and one that is hard to tell."""
    nb = nv.NaiveBayes().fit(PENGUINS, target="species")
    penguin = {"island": "Dream", "bill_length_mm": 43.0, "bill_depth_mm": 18.5, "flipper_length_mm": 193}
    return nb, penguin | {"body_mass_g": 4000, "sex": "male", "year": 2009}


def notebook_views() -> dict[str, bytes]:
    """Return views of the penguins as a browser shows them: the model in light colors, one penguin in dark ones."""
    from playwright.sync_api import sync_playwright

    nb, penguin = penguin_model()
    views = {"notebook-model.png": (nb, "light"), "notebook-evidence.png": (nb.explain(penguin), "dark")}
    found = {}
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name, (shown, scheme) in views.items():
            page = browser.new_page(viewport={"width": 800, "height": 600}, color_scheme=scheme)
            page.set_content(f"<!doctype html><body>{shown._repr_html_()}</body>")
            found[name] = page.locator(".naively").screenshot()
        browser.close()
    return found


if __name__ == "__main__":
    (IMAGES / "fit.svg").write_text(terminal(), encoding="utf-8")
    calibration().save(IMAGES / "calibration.svg")
    for name, chart in penguin_charts().items():
        chart.save(IMAGES / name)
    for name, picture in notebook_views().items():
        (IMAGES / name).write_bytes(picture)

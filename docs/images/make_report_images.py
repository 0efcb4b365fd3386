"""Draws the pictures of the report in README and guide: ``python docs/images/make_report_images.py``; needs Chromium."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from palmerpenguins import load_penguins
from playwright.sync_api import sync_playwright

import naively as nv

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))
from tests.browser import FLAGS, browser_path  # noqa: E402

# Of each picture: the tab, and the width and height of the window.
PICTURES = {"report-row": ("row", 1100, 700), "report-model": ("model", 1100, 640), "report-quality": ("quality", 1100, 900)}


def main() -> None:
    """Write all pictures."""
    penguins = load_penguins()
    nb = nv.NaiveBayes().fit(penguins, target="species")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as started:
        path = nb.report(penguins, title="penguins").save(Path(folder, "report.html"))
        browser = started.chromium.launch(executable_path=browser_path(), args=FLAGS)
        for name, (tab, width, height) in PICTURES.items():
            page = browser.new_page(viewport={"width": width, "height": height})
            page.goto(f"{path.as_uri()}#{tab}")
            page.wait_for_selector(f"#{tab}:not([hidden])")
            page.wait_for_timeout(500)
            page.screenshot(path=HERE / f"{name}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    main()

"""Draws the pictures of the report: ``python docs/images/make_report_images.py``; needs Chromium."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from urllib.parse import quote

from palmerpenguins import load_penguins
from playwright.sync_api import sync_playwright

import naively as nv

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent))
from tests.browser import FLAGS, browser_path  # noqa: E402

# A row that is hard to tell, in the address of the page.
CELLS = {"island": "Dream", "bill_length_mm": 43.5, "bill_depth_mm": 18.1, "flipper_length_mm": 192, "sex": "female"}
ROW = "row&cells=" + quote(json.dumps(CELLS | {"body_mass_g": None, "year": 2009}))
# Of each picture: the tab with its state, and the width and height of the window.
PICTURES = {
    "report-row": (ROW, 1100, 940),
    "report-quality": ("quality", 1100, 900),
}


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
            page.wait_for_selector(f"#{tab.partition('&')[0]}:not([hidden])")
            page.wait_for_timeout(500)
            page.screenshot(path=HERE / f"{name}.png")
            page.close()
        browser.close()


if __name__ == "__main__":
    main()

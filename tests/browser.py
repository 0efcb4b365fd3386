"""Chromium for the tests of the page and of the notebook: where it is, and pages that must not reach the network."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Chromium refuses its sandbox to root, and asks its maker for updates unless told not to.
FLAGS = ["--no-sandbox", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
PHONE, DESK = {"width": 390, "height": 844}, {"width": 1280, "height": 900}


def browser_path() -> str | None:
    """Return the program; Debian's own starts without a script around it."""
    debian = Path("/usr/lib/chromium/chromium")
    return str(debian) if debian.exists() else next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def launched() -> Iterator[Browser]:
    """Start Chromium; where there is none the tests that need it are skipped."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")
    if (path := browser_path()) is None:
        pytest.skip("no Chromium on this machine: python3 tools/machine.py --install browser")
    with playwright.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def silent_page(browser: Browser, *, allowed: tuple[str, ...] = (), **context: Any) -> Iterator[Page]:
    """Give a page that fails the test if it asks for anything, writes an error to the console or breaks its policy.

    Parameters
    ----------
    browser : Browser
        Chromium.
    allowed : tuple of str
        How the addresses begin that the page may ask for; files that the test opens itself always are.
    **context
        Options of the page's context: viewport, color_scheme, locale, java_script_enabled, …
    """
    own, found = ("file:", "data:", "blob:", "about:", *allowed), list[str]()
    with browser.new_context(**context) as opened:
        opened.set_default_timeout(3_600_000)  # a busy machine is no defect
        page = opened.new_page()
        page.on("console", lambda said: found.append(f"console: {said.text}") if said.type == "error" else None)
        page.on("pageerror", lambda error: found.append(f"error: {error}"))
        page.on("request", lambda asked: None if asked.url.startswith(own) else found.append(f"request: {asked.url}"))
        yield page
    assert not found, found


def assert_accessible(page: Page) -> None:
    """Assert that axe finds nothing: no missing name, no broken role, no text of too little contrast."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe: axe-playwright-python").Axe()
    found = axe.run(page, context="body")
    assert not found.response["violations"], found.generate_report()


def assert_narrow(page: Page) -> None:
    """Assert that nothing is wider than the page."""
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")

"""The page that a server serves, in Chromium: its scripts run, its policy holds, files and the token work."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest

import naively as nv

from .browser import silent_page
from .serving import PENGUINS, ROW, Server

TOKEN = "a-token-of-enough-characters"
PHONE = {"width": 390, "height": 844}
EVIL = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def server(penguin_model):
    with Server(penguin_model) as started:
        yield started


@pytest.fixture(scope="module")
def chinese(tmp_path_factory):
    """Return a server whose page is in Chinese, of a model with names that look like HTML."""
    path = tmp_path_factory.mktemp("evil") / "model.parquet"
    nv.NaiveBayes().fit({EVIL: [EVIL, "b"] * 30}, [EVIL, "out"] * 30).save(path)
    with Server(path, "--language", "zh") as started:
        yield started


def address(server, rest="/"):
    return f"http://127.0.0.1:{server.port}{rest}"


@pytest.fixture
def page(chromium, server):
    """Return a page that asks nobody but the server, and breaks no policy."""
    with silent_page(chromium, allowed=(address(server),), accept_downloads=True) as opened:
        yield opened


def predicted(page, name=PENGUINS):
    """Choose a file, let it be predicted, and return what the saved file holds."""
    page.set_input_files("#upload-file", str(name))
    page.get_by_role("button", name="Answer").click()
    link = page.get_by_role("link", name="Save")
    link.wait_for()
    with page.expect_download() as saved:
        link.click()
    return saved.value


def test_the_served_page_scores_as_the_server_does_and_is_used_by_keyboard(page, server):
    page.goto(address(server))
    page.wait_for_selector(".alive .columns")
    found = page.evaluate(
        "async (row) => { const own = Naively.scorer.score(row); const answer = await fetch('/api/v1/predict', "
        "{method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify(row)}); "
        "return [[...own.probabilities], Object.values((await answer.json()).probabilities)]; }",
        ROW,
    )
    assert found[0] == pytest.approx(found[1], abs=1e-6)
    page.get_by_role("tab", name="Row").focus()
    page.keyboard.press("End")
    assert page.get_by_role("tab", name="Files").evaluate("tab => tab === document.activeElement")
    page.keyboard.press("Tab")
    assert page.locator("#upload-file").evaluate("field => field === document.activeElement")
    page.set_input_files("#upload-file", str(PENGUINS))
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Save").wait_for()


def test_a_file_is_predicted_and_saved(page, server):
    page.goto(address(server, "/#server"))
    saved = predicted(page)
    assert saved.suggested_filename == "penguins-answers.csv"
    assert Path(saved.path()).read_bytes() == server.upload(PENGUINS.read_bytes()).body
    assert page.locator("#upload-note").inner_text() == "344 rows answered."
    assert page.locator("progress").evaluate("bar => bar.value") == 1
    page.get_by_label("with the probability of each class").uncheck()
    assert b"P(Adelie)" not in Path(predicted(page).path()).read_bytes()


@pytest.mark.parametrize(("scheme", "name"), [("light", "server"), ("dark", "chinese")])
def test_the_tab_is_accessible_and_fits_a_phone(chromium, request, scheme, name):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed").Axe
    served, look = request.getfixturevalue(name), {"viewport": PHONE, "color_scheme": scheme}
    with silent_page(chromium, allowed=(address(served),), **look) as page:
        page.goto(address(served, "/#server"))
        page.wait_for_selector("#upload-file")
        assert page.evaluate("() => document.documentElement.scrollWidth") <= PHONE["width"]
        assert ("文件" in page.get_by_role("tab", selected=True).inner_text()) is (name == "chinese")
    with closing(chromium.new_page(**look, bypass_csp=True)) as other:
        other.goto(address(served, "/#server"))
        other.wait_for_selector("#upload-file")
        assert [each["id"] for each in axe().run(other, context="body").response["violations"]] == []


def test_scripts_of_others_do_not_run(chromium, chinese):
    with silent_page(chromium, allowed=(address(chinese),)) as page:
        page.on("dialog", lambda dialog: pytest.fail(dialog.message))
        page.goto(address(chinese, "/#server"))
        page.wait_for_selector("#upload-file")
        assert EVIL in page.locator("#server").inner_text()
        assert page.locator("img").count() == 0


def test_another_site_neither_frames_the_page_nor_gets_a_response(chromium, server, chinese, tmp_path):
    """A page of another server, of the same machine even."""
    outer = tmp_path / "outer.html"
    outer.write_text(f'<iframe src="{address(server)}"></iframe>', encoding="utf-8")
    with closing(chromium.new_page()) as page, page.expect_console_message(lambda m: "frame-ancestors" in m.text):
        page.goto(outer.as_uri())
    fetch = "([url, how]) => fetch(url, how).then((found) => found.type + found.status).catch(() => '')"
    plain = {"method": "POST", "mode": "no-cors", "headers": {"Content-Type": "text/plain"}, "body": "{}"}
    with closing(chromium.new_page(bypass_csp=True)) as page:
        page.goto(address(chinese))
        assert page.evaluate(fetch, [address(server, "/api/v1/predict"), plain]) in ("opaque0", "")
        assert page.evaluate(fetch, [address(server, "/api/v1/model"), {}]) == ""


def test_the_token_is_given_once_by_the_form_or_the_fragment(chromium, penguin_model):
    with Server(penguin_model, environment={"NAIVELY_TOKEN": TOKEN}) as server:
        asked = []
        with closing(chromium.new_page()) as page:
            page.on("request", lambda request: asked.append(request.url))
            page.goto(address(server))
            page.get_by_label("Token of this server").fill("a-wrong-token-of-length")
            page.get_by_role("button", name="Enter").click()
            page.wait_for_function("() => document.querySelector('output').textContent.includes('token')")
            page.get_by_label("Token of this server").fill(TOKEN)
            page.get_by_role("button", name="Enter").click()
            page.wait_for_selector(".alive .columns")
            page.goto(address(server, "/#server"))
            predicted(page)
        with closing(chromium.new_page()) as page:
            page.on("request", lambda request: asked.append(request.url))
            page.goto(address(server, f"/#token={TOKEN}"))
            page.wait_for_selector(".alive .columns")
            stored = page.evaluate("() => document.cookie + JSON.stringify({...localStorage, ...sessionStorage})")
            assert TOKEN not in page.url + stored + json.dumps(asked)

"""The tab Files of a page that a server serves: rows of a CSV file in, the same rows with answers out."""

from __future__ import annotations

from ..markup.tags import Html, joined, tag
from .page_data import PageData
from .page_strings import PageStrings


def server_section(data: PageData, strings: PageStrings) -> Html | None:
    """Return the static part of the tab Files: addresses for programs; None where no server serves the page."""
    if data.server is None:
        return None
    api = str(data.server["api"])
    links = [tag("a", f"{api}/{name}", href=f"{api}/{name}") for name in ("openapi.json", "model")]
    token = ' -H "Authorization: Bearer $NAIVELY_TOKEN"' if data.server.get("token") else ""
    # The script puts the page's own address before the path.
    command = f"curl -H 'Content-Type: text/csv'{token} --data-binary @rows.csv {api}/file -o answers.csv"
    return joined(
        tag("p", strings.say("server.intro", columns=", ".join(column["name"] for column in data.flat["columns"]))),
        tag(
            "div",
            tag("h3", strings.say("server.programs")),
            tag("p", strings.say("server.api"), " ", joined(links[0], " · ", links[1]), dir="auto"),
            tag("pre", command, css="colored", tabindex=0, id="naively-curl"),
            css="card",
        ),
    )

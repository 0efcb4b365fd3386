"""Scripts and data of a page in few bytes: compressed, and unpacked by a loader of a few lines.

The Content-Security-Policy names the digests of the loader and of the script that it unpacks, and so allows both and
nothing else. Without JavaScript, or in a browser without `DecompressionStream`, the static page stays as it is.
"""

from __future__ import annotations

import gzip
import re
from base64 import b64encode

from .._types import JsonObject

# Lines that only explain; the others lose the blanks before them. No text of several lines is in the scripts.
COMMENT_LINE = re.compile(r"^\s*(//.*)?$")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


def shorter_script(script: str) -> str:
    """Return a script without the lines and blanks that only people need."""
    return "\n".join(line.strip() for line in script.splitlines() if not COMMENT_LINE.match(line))


def shorter_style(style: str) -> str:
    """Return a style sheet without comments, indentation, and blanks that nothing needs.

    >>> shorter_style("a:hover, p { color: red; margin: 0 1px; }")
    'a:hover,p{color:red;margin:0 1px}'
    """
    text = "\n".join(line.strip() for line in COMMENT.sub("", style).splitlines() if line.strip())
    for blank, short in ((" {", "{"), ("{ ", "{"), (": ", ":"), ("; ", ";"), (";}", "}"), (" }", "}"), (", ", ",")):
        text = text.replace(blank, short)
    return text


def packed_text(script: str, data: str) -> str:
    """Return the script and the data, which is JSON, compressed and in base64; the same bytes for the same texts."""
    head = f"{len(script.encode('utf-16-le')) // 2}\n"  # JavaScript counts in units of UTF-16
    return b64encode(gzip.compress(f"{head}{script}{data}".encode(), 9, mtime=0)).decode("ascii")


LOADER = """
(async () => {
if (!window.DecompressionStream) return;
const bytes = Uint8Array.from(atob(document.getElementById("naively-packed").textContent), (c) => c.charCodeAt(0));
const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
const text = await new Response(stream).text();
const head = text.indexOf("\\n") + 1, end = head + parseInt(text, 10);
for (const [type, content] of [["application/json", text.slice(end)], ["", text.slice(head, end)]]) {
const element = document.createElement("script");
if (type) { element.type = type; element.id = "naively-data"; }
element.textContent = content;
document.body.append(element);
}
})();
"""


def unpacked_data(html: str) -> JsonObject:
    """Return the data of a page, as its scripts read them.

    Parameters
    ----------
    html : str
        The page.

    Returns
    -------
    data : dict
        What `PageData.to_json` returned, and the strings of the page.
    """
    import json
    from base64 import b64decode

    found = re.search(r'id="naively-packed">([^<]*)<', html)
    assert found is not None, "a page holds its data"
    head, _, rest = gzip.decompress(b64decode(found[1])).decode("utf-8", "surrogatepass").partition("\n")
    content: JsonObject = json.loads(rest.encode("utf-16-le")[2 * int(head) :].decode("utf-16-le"))
    return content

"""The style sheet of notebook views, and the box that holds one.

Everything is scoped to the class ``naively``. Colors are CSS variables: light ones, dark ones where the reader prefers
them, and in either case those of the notebook's own theme where it names one (JupyterLab, VS Code, Colab, Sphinx).
"""

from __future__ import annotations

from functools import cache

from .palette import COLORS, DARK, LIGHT, css_variables
from .svg import FIXED_HEIGHTS
from .tags import Child, Html, joined, tag

# How notebooks and pages say that they are light or dark, whatever the reader's system prefers.
LIGHT_PLACES = ('[data-jp-theme-light="true"]', "body.vscode-light", 'html[theme="light"]', 'html[data-theme="light"]')
DARK_PLACES = ('[data-jp-theme-light="false"]', "body.vscode-dark", 'html[theme="dark"]', 'html[data-theme="dark"]')
# Fonts of the reader's system, those with Chinese characters last.
FONTS = (
    'system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,'
    '"PingFang SC","Microsoft YaHei","Noto Sans CJK SC","WenQuanYi Zen Hei",sans-serif'
)
CHINESE_FONTS = '"PingFang SC","Microsoft YaHei","Noto Sans CJK SC","WenQuanYi Zen Hei",system-ui,sans-serif'

# Shapes of pictures; a page that draws them has these rules under its own root.
PICTURE_CSS = """
S svg{overflow:visible;vertical-align:middle}
S .nv-chart{display:block;max-width:100%;height:auto}
S .nv-bar{display:block;width:100%;min-width:3rem}
S .nv-swatch{width:.7em;height:.7em;margin-inline-end:.35em;vertical-align:baseline;flex:none}
S .nv-for{fill:var(--nv-for)}
S .nv-against{fill:var(--nv-against)}
S .nv-bits{fill:var(--nv-muted)}
S .nv-track{fill:var(--nv-raised)}
S .nv-zero{stroke:var(--nv-muted);stroke-width:1;vector-effect:non-scaling-stroke}
S .nv-grid{stroke:var(--nv-line);stroke-width:1}
S .nv-dashed{stroke:var(--nv-muted);stroke-dasharray:4 4}
S .nv-t{fill:var(--nv-muted);font-size:11px;font-variant-numeric:tabular-nums}
"""

NOTEBOOK_CSS = """
S{color:var(--nv-ink);background:var(--nv-bg);border:1px solid var(--nv-line);border-radius:6px;padding:.6rem .8rem;
max-width:60rem;box-sizing:border-box;font:14px/1.45 FONTS;font-variant-numeric:tabular-nums;text-align:start;
overflow-wrap:anywhere}
S:lang(zh),S :lang(zh){font-family:CHINESE}
S *{box-sizing:border-box}
S .nv-head{font-size:1.1em;font-weight:600;margin:0 0 .35em}
S .nv-cap{font-weight:600;margin:.8em 0 0}
S p{margin:.35em 0}
S .nv-m{color:var(--nv-muted);font-weight:400}
S small{font-size:.86em;color:var(--nv-muted);display:block}
S ul{margin:.35em 0;padding-inline-start:1.3em}
S .nv-w{width:45%}
S .nv-bar+small{margin-top:3px}
S .nv-info{width:22%}
S .nv-text{white-space:pre-wrap;text-align:start;border-top:1px solid var(--nv-line);padding-top:.4em}
S .nv-key{display:inline-flex;align-items:baseline}
S .nv-scroll{overflow-x:auto;max-width:100%}
S .nv-scroll:focus-visible{outline:2px solid var(--nv-for)}
S .nv-scroll th,S .nv-scroll td{overflow-wrap:normal}
S .nv-side{display:flex;flex-wrap:wrap;gap:.5em 2em;align-items:flex-start}
S .nv-side>*{flex:1 1 19rem;min-width:0}
S .nv-side>.nv-chart{flex:0 1 auto}
S code{font:.93em ui-monospace,Menlo,Consolas,monospace;background:var(--nv-raised);color:inherit;padding:0 .25em;
border-radius:3px}
S details{border-top:1px solid var(--nv-line);padding:.3em 0}
S td details{border:0;padding:0}
S td summary{font-weight:400;color:var(--nv-muted)}
S summary{cursor:pointer;font-weight:600}
S summary:focus-visible{outline:2px solid var(--nv-for);outline-offset:2px}
@media print{S{border:0}}
"""


# On a phone, rows with a picture have it below: name and number in a line, then the picture as wide as the view.
NARROW_CSS = """
S td:first-child{min-width:6em}
S .nv-w{width:34%}
S .nv-rows tr{display:grid;grid-template-columns:1fr auto;border-top:1px solid var(--nv-line);padding:.2em 0}
S .nv-rows td{border:0;padding:.1em .3em;width:auto}
S .nv-rows td.nv-in{padding-inline-start:1.4em}
S .nv-rows td.nv-info{width:8em}
S .nv-rows td:last-child{grid-column:1/-1}
S .nv-rows thead{position:absolute;clip-path:inset(50%);width:1px;height:1px;overflow:hidden}
S .nv-rows .nv-sum{border-top:2px solid var(--nv-muted)}
"""
TABLE_CSS = """
S table{table-layout:auto;width:100%;border-collapse:collapse;border:0;margin:.5em 0;font-size:inherit;color:inherit}
S table.nv-fit{width:auto;max-width:100%}
S caption{caption-side:top;text-align:start;font-weight:600;color:inherit;padding:.3em 0}
S tr:nth-child(n),S tbody tr:nth-child(n):hover{background:none}
S th,S td{text-align:start;vertical-align:top;padding:.22em .5em;border:0;border-top:1px solid var(--nv-line);
background-clip:padding-box;white-space:normal;max-width:none;font-weight:400;color:inherit}
S thead th{border-top:0;color:var(--nv-muted);font-size:.86em;vertical-align:bottom;overflow-wrap:normal}
S thead th span{overflow-wrap:anywhere}
S td:first-child{min-width:9em}
S .nv-n{text-align:end;white-space:nowrap}
S thead .nv-n{white-space:normal}
S .nv-in{padding-inline-start:1.6em;color:var(--nv-muted)}
S .nv-matrix td,S .nv-matrix thead th{text-align:end}
S .nv-matrix small{text-align:end}
S .nv-sum>*{border-top:2px solid var(--nv-muted);font-weight:600}
S .nv-sum small{font-weight:400}
"""


def theme_css(scope: str, in_notebook: bool = False) -> str:
    """Return the rules that give a selector the colors of its theme, light or dark; what is printed is light.

    Parameters
    ----------
    scope : str
        The selector, such as ``.naively`` or ``:root``.
    in_notebook : bool, default=False
        Whether the theme of a notebook around it comes before what the reader's system prefers.
    """
    light, dark = css_variables(LIGHT) + "color-scheme:light", css_variables(DARK) + "color-scheme:dark"
    preferred = f"{scope}:not({_within(LIGHT_PLACES, scope)})" if in_notebook else scope
    chosen = f"{_within(DARK_PLACES, scope)}{{{dark}}}" if in_notebook else ""
    return f"{scope}{{{light}}}\n@media screen{{{chosen}@media (prefers-color-scheme:dark){{{preferred}{{{dark}}}}}}}"


def picture_css(scope: str) -> str:
    """Return the rules of shapes in pictures, under a selector: fills and strokes of classes, axes, tints of words."""
    colors = [f"S .nv-c{k}{{fill:var(--nv-c{k})}}" for k in range(COLORS)]
    lines = [f"S .nv-s{k}{{fill:none;stroke:var(--nv-c{k});stroke-width:1.5;{_FIXED}}}" for k in range(COLORS)]
    heights = [f"S .nv-h{height:g}{{height:{height:g}px}}" for height in FIXED_HEIGHTS]
    washes = [f"S .nv-wash{k}{{fill:var(--nv-c{k});fill-opacity:.13}}" for k in range(COLORS)]
    tints = [f"S .nv-{side}{at}{{background:var(--nv-{side}{at})}}" for side in "fa" for at in (1, 2, 3)]
    tints += ["S [class*=nv-f] small,S [class*=nv-a] small{color:inherit}"]
    return _scoped("\n".join([PICTURE_CSS.strip(), *colors, *lines, *washes, *heights, *tints]), scope)


@cache
def notebook_css() -> str:
    """Return the whole style sheet of notebook views."""
    rules = NOTEBOOK_CSS.strip().replace("FONTS", FONTS).replace("CHINESE", CHINESE_FONTS)
    # Twice the class: these must outweigh the rules that notebooks have for all tables.
    tables = _scoped(TABLE_CSS.strip(), ".naively.naively")
    narrow = _scoped(NARROW_CSS.strip(), ".naively.naively.naively")
    tables = f"{tables}\n@media (max-width:480px){{{narrow}}}"
    return "\n".join(
        [theme_css(".naively", in_notebook=True), _scoped(rules, ".naively"), tables, picture_css(".naively")]
    )


def notebook_view(*body: Child) -> Html:
    """Return HTML in the box of a notebook view, with its style sheet."""
    return tag("div", Html(f"<style>{notebook_css()}</style>"), joined(*body), css="naively")


_FIXED = "vector-effect:non-scaling-stroke"


def _within(places: tuple[str, ...], scope: str) -> str:
    return ",".join(f"{place} {scope}" for place in places)


def _scoped(rules: str, scope: str) -> str:
    """Put a selector in the place of S, where a rule begins with it or names it after a comma."""
    return "\n".join(_scoped_line(line, scope) for line in rules.split("\n"))


def _scoped_line(line: str, scope: str) -> str:
    selector, brace, rest = line.partition("{")
    if selector.startswith("@"):
        return f"{selector}{brace}{_scoped_line(rest, scope)}"
    named = [scope + one[1:] if one[:1] == "S" and one[1:2] in ("", " ", ":") else one for one in selector.split(",")]
    return ",".join(named) + brace + rest

"""Sphinx builds the documentation site from the Markdown pages here and from the docstrings of the package.

``python -m sphinx -W --keep-going -n -b html docs build/docs`` needs the dependency group ``docs``, the package itself
(installed, or ``src`` on the path), and no network.
"""

from __future__ import annotations

import re
import sys
from itertools import groupby
from typing import Any

import naively

project = "Naively"
author = "the Naively developers"
copyright = author  # noqa: A001 (the name that Sphinx reads)
version = release = naively.__version__

# `nv.plots` is loaded on first use from another package; autodoc imports it by its public name.
sys.modules.setdefault("naively.plots", naively.plots)

extensions = [
    "myst_parser",  # pages are Markdown
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",  # a page for each public name
    "numpydoc",  # sections of docstrings
    "sphinx.ext.intersphinx",
    "sphinx_click",  # the page of commands, from the help texts
]
exclude_patterns = ["inventories", "_templates", "images"]
templates_path = ["_templates"]
nitpicky = True
smartquotes = False  # quotes in types and options are code

# -- Markdown --------------------------------------------------------------------------------------------------------

myst_heading_anchors = 3  # headings can be linked to as on a code host
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_dmath_allow_digits = False  # $5 and $7 are prices
suppress_warnings = ["myst.header"]  # a page that includes another starts with that page's own title

# -- Docstrings ------------------------------------------------------------------------------------------------------

default_role = "literal"  # `name` in a docstring is code, as in those of scikit-learn
autosummary_generate = True
autodoc_typehints = "none"  # numpydoc's sections have the types
numpydoc_class_members_toctree = False
numpydoc_show_class_members = False  # the template of a class lists its methods
numpydoc_xref_param_type = True
numpydoc_xref_ignore = "all"  # link the aliases below, leave all other words of a type as they are
numpydoc_xref_aliases = {
    **{name: f"naively.{name}" for name in naively.__all__ if name[0].isupper()},
    "bool": ":py:class:`bool`",
    "callable": ":py:func:`callable <callable>`",  # without the parentheses of a function
    "iterable": "collections.abc.Iterable",
    "sequence": "collections.abc.Sequence",
    "array": "numpy.ndarray",
    "array-like": "numpy.ndarray",
    "array_like": "numpy.ndarray",
    "ndarray": "numpy.ndarray",
    "DataFrame": "pandas.DataFrame",
    "Series": "pandas.Series",
    "RandomState": "numpy.random.RandomState",
}

# The methods that the page of a class shows. A class that is not named here shows all of them; one that is shows what
# users call. What else it has serves the package.
MEMBERS: dict[str, tuple[str, ...]] = {
    "naively.Column": (),
    "naively.Counts": ("agrees",),
    "naively.Expected": (),
    "naively.File": ("columns", "batches"),
    "naively.Moments": ("agrees", "of"),
    "naively.Schema": ("only", "with_families", "to_json", "from_json"),
    "naively.Settings": (),
    "naively.Table": ("agrees",),
    "naively.spark.ScoreSums": ("to_dict",),
    **{
        f"naively.{name}": ()
        for name in ("Bernoulli", "Bins", "Categorical", "Gaussian", "Ordinal", "Poisson", "Words")
    },
}
autosummary_context = {"shown": {name: ", ".join(members) for name, members in MEMBERS.items()}}

# -- Links to other projects -----------------------------------------------------------------------------------------

# The names that pages and docstrings link to are listed in small inventories of our own, in a plain-text format that
# Sphinx reads (version 1: name, kind, page). So the build needs no network. A new link needs a line in an inventory.
intersphinx_mapping = {
    "numpy": ("https://numpy.org/doc/stable/", "inventories/numpy.inv"),
    "pandas": ("https://pandas.pydata.org/docs/", "inventories/pandas.inv"),
    "python": ("https://docs.python.org/3/", "inventories/python.inv"),
    "sklearn": ("https://scikit-learn.org/stable/", "inventories/sklearn.inv"),
}

# -- The site --------------------------------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = f"Naively {release}"
html_copy_source = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
}
html_sidebars = {"index": [], "development/changelog": []}


def skip_foreign(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out members that other packages define: scikit-learn's methods for metadata routing and parameters."""
    function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
    module = getattr(function, "__module__", None)
    return True if module is not None and module.partition(".")[0] != "naively" else None


def paragraphs(app: Any, context: Any, lines: list[str]) -> None:
    """Turn a help text of the command line into reStructuredText: prose, and indented lines, which are commands."""
    text = "\n".join(
        line.removeprefix("| ").replace("\b", "") for line in lines
    )  # sphinx-click marks kept lines by a bar
    blocks = [block.strip("\n") for block in re.split(r"\n\s*\n", text) if block.strip()]
    lines[:] = [line for block in blocks for line in (*restructured(block.splitlines()), "")]


def restructured(block: list[str]) -> list[str]:
    """Return the lines of a paragraph: prose with escaped signs and options as code, indented lines as they are."""
    out: list[str] = []
    for indented, run in groupby(block, lambda line: line.startswith(" ")):
        if indented:
            out += ["", ".. code-block:: console", "", *(f"    {line.strip()}" for line in run), ""]
        else:
            out += [re.sub(r"(?<![\w`-])(--\w[\w-]*)", r"``\1``", escaped(line)) for line in run]
    return out


def escaped(line: str) -> str:
    """Return a line whose signs mean nothing to reStructuredText, and whose `code` is code."""
    return re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", re.sub(r"([*|_\\])", r"\\\1", line))


def from_the_root(app: Any, path: Any, docname: str, content: list[str]) -> None:
    """Let the links of a page that lies in the root of the repository lead to the same places from here."""
    content[0] = re.sub(r"(?<=\]\()[\w-][\w./-]*(?=[)#])", lambda link: from_development(link[0]), content[0])


def from_development(target: str) -> str:
    """Return a path of the repository, relative to the folder of the pages on development."""
    if target in ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md"):
        return target.lower()
    return f"../{target.removeprefix('docs/')}" if target.startswith("docs/") else f"../../{target}"


def language_of(app: Any, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Mark the Chinese pages as Chinese, for fonts, screen readers and search engines."""
    if page.endswith(".zh-CN"):
        context["language"] = "zh-CN"


def setup(app: Any) -> None:
    """Connect the functions above to the events of the build."""
    app.connect("autodoc-skip-member", skip_foreign)
    app.connect("include-read", from_the_root)
    app.connect("html-page-context", language_of)
    for part in ("description", "epilog"):
        app.connect(f"sphinx-click-process-{part}", paragraphs)

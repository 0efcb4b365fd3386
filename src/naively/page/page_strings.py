"""The texts of the page in the languages it speaks; scripts and static parts read the same files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..errors import InvalidSetting
from ..errors.message import Setting

ASSETS = Path(__file__).parent / "assets"
LANGUAGES = ("en", "zh")


@dataclass(frozen=True)
class PageStrings:
    """The texts of one language, by key."""

    language: str
    texts: dict[str, str]

    def say(self, key: str, **values: object) -> str:
        """Return a text, each ``{name}`` of which is replaced by the value of that name."""
        parts = self.texts[key].split("{")
        filled = [part.split("}", 1) for part in parts[1:]]
        return parts[0] + "".join(f"{values[name]}{rest}" for name, rest in filled)


@cache
def page_strings(language: str) -> PageStrings:
    """Return the texts of a language."""
    if language not in LANGUAGES:
        raise InvalidSetting(
            Setting("language", language), f" is no language of the page; those are {list(LANGUAGES)}."
        )
    texts: dict[str, str] = {}
    for path in sorted((ASSETS / "strings").glob("*.json")):
        for key, versions in json.loads(path.read_text("utf-8")).items():
            texts[key] = versions[language]
    return PageStrings(language, texts)

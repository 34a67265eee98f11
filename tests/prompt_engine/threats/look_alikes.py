"""Generates the table of characters that look like an ASCII letter from Unicode's table.

`python -m tests.prompt_engine.threats.look_alikes` rewrites the file.
"""

import json
from collections import defaultdict
from importlib.resources import files
from pathlib import Path
from typing import TypedDict

from prompt_engine.threats import folding
from prompt_engine.threats.folding import letter_from_name

TABLE = Path(folding.__file__).with_name("look_alikes.json")


class LookAlike(TypedDict):
    """A character, or several, that look like another one."""

    c: str
    n: str


def build_table() -> str:
    """Return the table: by letter, its look-alikes separated by spaces."""
    raw = files("confusable_homoglyphs").joinpath("confusables.json").read_text("utf-8")
    published: dict[str, list[LookAlike]] = json.loads(raw)
    found: defaultdict[str, list[str]] = defaultdict(list)
    for each, similar in sorted(published.items()):
        letter = "" if each.isascii() else _first_letter(similar)
        if letter:
            found[letter].append(each)
    table = {letter: " ".join(found[letter]) for letter in sorted(found)}
    return json.dumps(table, indent=1) + "\n"


def _first_letter(similar: list[LookAlike]) -> str:
    """Return the first ASCII letter among look-alikes, or the one for a small capital."""
    for entry in similar:
        other = entry["c"]
        if len(other) == 1:
            letter = (
                other.lower() if other.isascii() and other.isalpha() else letter_from_name(other)
            )
            if letter:
                return letter
    return ""


if __name__ == "__main__":
    TABLE.write_text(build_table(), encoding="utf-8")

"""Names and English: one concept has one name, and private words do not come back."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.source_tree import ROOT, path_name, read_text, source_files

MOST_WHAT_PERCENT = 0.24
ALLOWED_AT_THE_ROOT = {"__init__.py", "__main__.py", "version.py", "py.typed"}
RETIRED_WORDS = frozenset(
    [
        "tidings",
        "bulletin",
        "chronicle",
        "scribe",
        "errand",
        "errands",
        "office",
        "workshop",
        "equipment",
        "surroundings",
        "premises",
        "surveyor",
        "witness",
        "asides",
        "upkeep",
        "briefing",
        "whoever",
        "anew",
        "lull",
        "omissions",
        "quirks",
        "shelf",
        "shelves",
        "elsewhere",
        "tally",
        "standby",
        "premise",
        "territory",
        "deed",
        "deeds",
        "complaint",
        "basket",
        "visibility_facts",
    ]
)
"""Private words that were replaced by the field's terms; no name may contain one again."""
RETIRED_NAMES = frozenset(
    [
        "Desk",
        "Kit",
        "Joint",
        "Around",
        "Ground",
        "Orders",
        "Passage",
        "look_away",
        "pass_through",
        "step_aside",
        "Ticket",
        "Gathered",
        "Spoken",
        "Standing",
        "Want",
        "Beginning",
        "is_over",
        "is_led",
        "dismiss",
        "Seam",
        "Keeper",
        "Patience",
        "Fault",
        "Spent",
        "Past",
    ]
)
"""Names that meant several things, or nothing to a newcomer."""
SHARED_CLASS_NAMES = frozenset({"PlanEntry", "ToolCall"})
"""Concepts that both ACP and the engine name so; the archive stores the engine's by class name."""

DEFINITION = re.compile(r"^[ \t]*(?:async[ ]+def|def|class)[ ]+(\w+)", re.MULTILINE)
"""Beginning of a definition, also in a program that is a text; parsing all tests takes seconds."""


def definitions() -> Iterator[tuple[str, str]]:
    """Yield each module, class and function name with its place."""
    for file in source_files():
        yield file.name, Path(file.name).stem
        for node in file.definitions:
            yield f"{file.name}:{node.lineno}", node.name


def support_definitions() -> Iterator[tuple[str, str]]:
    """Yield the same names of the tests' support code; the tests themselves are sentences."""
    for path in sorted((ROOT / "tests").rglob("*.py")):
        place = path_name(path)
        yield place, path.stem
        for name in DEFINITION.findall(read_text(path)):
            if not name.startswith("test_"):
                yield place, name


def words_in(name: str) -> set[str]:
    """Return the lower-case words of a name in either style."""
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}


def test_retired_words_are_not_reintroduced() -> None:
    found = [
        f"{place}: {name}"
        for place, name in (*definitions(), *support_definitions())
        if words_in(name) & RETIRED_WORDS or name.lstrip("_") in RETIRED_NAMES
    ]
    assert found == []


def test_a_class_name_has_one_meaning() -> None:
    places: dict[str, list[str]] = defaultdict(list)
    for file in source_files():
        for node in file.tree.body:
            if isinstance(node, ast.ClassDef):
                places[node.name].append(file.name)
    repeated = {name: found for name, found in places.items() if len(found) > 1}
    assert {name: found for name, found in repeated.items() if name not in SHARED_CLASS_NAMES} == {}
    assert SHARED_CLASS_NAMES - repeated.keys() == set()


def test_docstrings_define_things_by_name() -> None:
    """A sentence that begins with "what" or "whatever" describes around its subject."""
    words = [
        word
        for file in source_files()
        for node in (file.tree, *file.definitions)
        for word in re.findall(r"[a-z']+", (ast.get_docstring(node) or "").lower())
    ]
    assert 100 * words.count("what") / len(words) <= MOST_WHAT_PERCENT


def test_the_server_root_contains_only_packages() -> None:
    files = {path.name for path in (ROOT / "acp_server").iterdir() if path.is_file()}
    assert files <= ALLOWED_AT_THE_ROOT

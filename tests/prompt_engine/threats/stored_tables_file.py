"""The file `stored_tables.json`, made from the pattern tables.

uv run python -m tests.prompt_engine.threats.stored_tables_file    # writes the file again

The expression of each wording is parsed as Python does it. For its parts, sets of texts are
collected of which every match contains one. Only the first bytes of a text count: whoever looks for
these finds too much, never too little.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from typing import cast

from prompt_engine.threats import catalogue
from prompt_engine.threats.stored_tables import FILE, SEQUENCE_LENGTHS, digest_of
from prompt_engine.toml_tables import read_toml

Texts = frozenset[str]
Node = tuple[object, object]

MAX_TEXTS = 64
"""Texts of which a set is made by combining the parts of an expression."""
MAX_CLASS_CHARACTERS = 12
MAX_SETS = 4
"""Sets for each wording: the most telling ones."""
NOTHING: Texts = frozenset({""})
MULTILINE = 8
"""The only flag that an expression may set: it changes no character."""


@dataclass(frozen=True, slots=True)
class Contents:
    """What every match of an expression contains."""

    texts: Texts | None
    """All texts that the expression matches; None if they are too many."""
    sets: Sequence[Texts] = ()
    """Sets of which a match contains one text each."""

    def all_sets(self) -> Sequence[Texts]:
        """Return the sets, with the texts themselves if they are telling."""
        return [*self.sets, *_telling(self.texts)]


def stored_tables_text() -> str:
    """Return the content that the file must have."""
    tables = [*catalogue.TABLES, "vocabulary"]
    documents = {name: read_toml("threats/families", name) for name in tables}
    numbers: dict[Texts, int] = {}
    required: dict[str, dict[str, list[list[int]]]] = {}
    only_ascii: dict[str, list[bool]] = {}
    for table in catalogue.TABLES:
        groups = catalogue.make_groups(table, None)
        only_ascii[table] = [
            all(pattern.expression.isascii() for pattern in group.patterns) for group in groups
        ]
        required[table] = {
            pattern.id: [
                [numbers.setdefault(each, len(numbers)) for each in _required(wording.expression)]
                for wording in pattern.wordings
            ]
            for group in groups
            for pattern in group.patterns
        }
    content = {
        "tables": {name: digest_of(name) for name in tables},
        "documents": documents,
        "required": required,
        "only_ascii": only_ascii,
        "sets": ["\0".join(sorted(texts)) for texts in numbers],
    }
    return json.dumps(content, separators=(",", ":")) + "\n"


def _required(expression: str) -> list[Texts]:
    """Return the most telling sets of byte sequences of which every match contains one each."""
    parse = cast("object", vars(import_module("re._parser"))["parse"])
    assert callable(parse)
    # RE2's name of the end of the text is Python's `\Z`.
    tree = cast("Iterable[Node]", parse(expression.replace(r"\z", r"\Z")))
    sets = {_beginnings(texts) for texts in _contents(tree).all_sets()}
    return sorted(sets, key=lambda texts: (_weight(texts), sorted(texts)), reverse=True)[:MAX_SETS]


def _beginnings(texts: Texts) -> Texts:
    """Return the first bytes of texts, as Latin-1 characters."""
    return frozenset(
        text.encode()[: max(SEQUENCE_LENGTHS)].decode("latin-1")  # never cut below the shortest
        for text in texts
    )


def _telling(texts: Texts | None) -> Sequence[Texts]:
    """Return the set itself if each text is long enough to be looked for."""
    if not texts:
        return ()
    return [texts] if min(len(each.encode()) for each in texts) >= min(SEQUENCE_LENGTHS) else ()


def _weight(texts: Texts) -> tuple[int, int]:
    """Return how telling a set is: its shortest text first, then how few there are."""
    return min(*(len(each.encode()) for each in texts), max(SEQUENCE_LENGTHS)), -len(texts)


def _contents(items: Iterable[Node]) -> Contents:
    """Return what a sequence of expressions contains."""
    current, sets, is_complete = NOTHING, list[Texts](), True
    for item in items:
        found = _contents_of(item)
        if found.texts is not None and len(current) * len(found.texts) <= MAX_TEXTS:
            current = frozenset(map("".join, product(current, found.texts)))
            continue
        is_complete = False
        sets += [*_telling(current), *found.sets]
        current = NOTHING if found.texts is None else found.texts
    if is_complete:
        return Contents(current)
    return Contents(None, [*sets, *_telling(current)])


def _contents_of(item: Node) -> Contents:
    kind, value = str(item[0]), item[1]
    match kind:
        case "LITERAL" | "IN":
            items = [item] if kind == "LITERAL" else cast("Sequence[Node]", value)
            return Contents(_characters(items))
        case "AT":
            return Contents(NOTHING)
        case "SUBPATTERN":
            _, added, removed, inner = cast("tuple[object, int, int, Iterable[Node]]", value)
            assert not removed
            assert added in {0, MULTILINE}
            return _contents(inner)
        case "BRANCH":
            branches = cast("tuple[object, Sequence[Iterable[Node]]]", value)[1]
            return _contents_of_branches([_contents(each) for each in branches])
        case "MAX_REPEAT" | "MIN_REPEAT":
            least, most, inner = cast("tuple[int, object, Iterable[Node]]", value)
            return _contents_of_repeat(least, most, _contents(inner))
        case _:
            return Contents(None)


def _contents_of_branches(branches: Sequence[Contents]) -> Contents:
    texts = [each.texts for each in branches]
    known = [each for each in texts if each is not None]
    together = frozenset[str]().union(*known)
    if len(known) == len(texts) and len(together) <= MAX_TEXTS:
        return Contents(together)
    sets = [each.all_sets() for each in branches]
    if not all(sets):
        return Contents(None)
    return Contents(None, [frozenset[str]().union(*(max(each, key=_weight) for each in sets))])


def _contents_of_repeat(least: int, most: object, inner: Contents) -> Contents:
    if (least, most) == (1, 1):
        return inner
    if (least, most) == (0, 1) and inner.texts is not None:
        return Contents(inner.texts | NOTHING)
    return Contents(None, inner.all_sets() if least else ())


def _characters(items: Sequence[Node]) -> Texts | None:
    """Return the characters of a class; None if they are many."""
    found = set[str]()
    for kind, value in items:
        match str(kind):
            case "LITERAL":
                found.add(chr(cast("int", value)))
            case "RANGE":
                first, last = cast("tuple[int, int]", value)
                if last - first >= MAX_CLASS_CHARACTERS:
                    return None
                found.update(map(chr, range(first, last + 1)))
            case _:  # a negation, or a category
                return None
    return frozenset(found) if len(found) <= MAX_CLASS_CHARACTERS else None


if __name__ == "__main__":
    FILE.write_text(stored_tables_text(), encoding="utf-8")

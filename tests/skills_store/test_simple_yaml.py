"""The fast reader of frontmatter gives what the parser gives, or nothing."""

import random

import pytest

from skills_store import frontmatter, plain_yaml, simple_yaml
from skills_store.frontmatter import FrontmatterFields, FrontmatterParts

PIECES = (
    *("name", "description", "tags", "a-b_c", "x", "null", "true", "- ", "-", ": ", ":", ":\n"),
    *(" ", "  ", "    ", "\n", "\n  ", "\n    ", "\n- ", "\n  - ", "#", " # note", "'", '"', '"a"'),
    *("'b'", "''", "\\", "[a, b]", "{a: b}", "|", ">", "&a", "*a", "!t", "%", "@", "`", "?", "? "),
    *("12", "-7", "1.5", "2026-01-02", "https://x.y/z", "a b", "é", "—", "~", "...", "\t"),
    *("---", "<<", "=", "name: pdf\n", "\n  tags:", "metadata:\n  hermes:\n    tags:\n      - a\n"),
)
SIMPLE = """\
name: pdf-forms
description: "Use this: when a form is to be filled in."
license: 'MIT'
version: 12
is-new: true
empty:
url: https://example.org/a#b

metadata:
  version: "1.0"
  hermes:
    tags:
      - kind-1
      - 2
  other:
    note: it's — done (for now)
last: ~
"""


def test_a_usual_frontmatter_is_read_without_the_parser() -> None:
    assert simple_yaml.parse(SIMPLE) == {
        "name": "pdf-forms",
        "description": "Use this: when a form is to be filled in.",
        "license": "MIT",
        "version": 12,
        "is-new": True,
        "empty": None,
        "url": "https://example.org/a#b",
        "metadata": {
            "version": "1.0",
            "hermes": {"tags": ["kind-1", 2]},
            "other": {"note": "it's — done (for now)"},
        },
        "last": None,
    }
    assert plain_yaml.parse(SIMPLE).values == simple_yaml.parse(SIMPLE)


def compare(text: str) -> bool:
    """Compare a text's values with the parser's, if it is simple; return whether it is."""
    values = simple_yaml.parse(text)
    if values is not None:
        mapping = plain_yaml.parse(text)
        assert (values, ()) == (mapping.values, mapping.dialect_problems), text
        assert repr(values) == repr(mapping.values), text  # also the order, and 1 is not True
    return values is not None


def test_texts_are_read_as_the_parser_reads_them_or_not_at_all() -> None:
    generator = random.Random(7)  # noqa: S311  texts for a test
    simple = 0
    for _ in range(6_000):
        text = "".join(generator.choice(PIECES) for _ in range(generator.randrange(1, 9)))
        simple += compare(text) + compare(f"name: {text}\nlast: 1")
    for _ in range(3_000):
        at = generator.randrange(len(SIMPLE))
        simple += compare(SIMPLE[:at] + generator.choice(PIECES) + SIMPLE[at + at % 3 :])
    assert simple > 1_000


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a: b: c",
        "a: [b]",
        "a: |\n  b",
        "a: b\n  c",
        "a:\n- b",
        "a: 1\na: 2",
        "a:\n  b:\n    c: 1\n  d:\n      e: 2",
        "a: \\u0007\u0007",
        "a:\r\n  b: 1",
        "a: b # note",
        "- a",
        "".join(f"{' ' * depth}a:\n" for depth in range(simple_yaml.MAX_DEPTH + 2)),
    ],
)
def test_other_texts_are_left_to_the_parser(text: str) -> None:
    assert simple_yaml.parse(text) is None


def test_frontmatter_is_read_the_same_without_the_fast_reader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    block = FrontmatterParts(SIMPLE, "", 1)
    fast = frontmatter.read(block)
    asked = list[str]()

    def give_up(text: str) -> None:
        asked.append(text)

    monkeypatch.setattr(simple_yaml, "parse", give_up)

    assert frontmatter.read(block) == fast == FrontmatterFields(fast.values)
    assert asked == [SIMPLE]

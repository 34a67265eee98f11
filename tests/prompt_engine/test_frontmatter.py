"""The block at the beginning of a file: split off and read, whatever it holds."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import JsonValue

from prompt_engine.frontmatter import MAX_CHARACTERS, Frontmatter, split_frontmatter
from tests.support.user_texts import FRONTMATTER_NOT_PLAIN_YAML

READ_TWO_TEXTS = """
import sys
from acp_server.project_files import places
from prompt_engine.frontmatter import split_frontmatter
split_frontmatter("# No block")
print("yaml" in sys.modules)
split_frontmatter("---\\na: b\\n---\\n")
print("yaml" in sys.modules)
"""


def test_the_parser_is_imported_by_the_first_block() -> None:
    done = subprocess.run([sys.executable, "-c", READ_TWO_TEXTS], capture_output=True, check=True)
    assert done.stdout.split() == [b"False", b"True"]


@pytest.mark.parametrize(
    ("block", "values"),
    [
        pytest.param("model: x\n", {"model": "x"}, id="a line"),
        pytest.param("", {}, id="nothing"),
        pytest.param("# only a comment\n", {}, id="a comment"),
        pytest.param(
            "tools: [a, b]\nmode: ask\n", {"tools": ["a", "b"], "mode": "ask"}, id="a list"
        ),
        pytest.param("a:\n  b:\n    - 1\n    - 2.5\n", {"a": {"b": [1, 2.5]}}, id="nested"),
        pytest.param("on: true\nnone:\n", {"True": True, "none": None}, id="keys are text"),
        pytest.param("day: 2026-11-22\n", {"day": "2026-11-22"}, id="a day is text"),
    ],
)
def test_a_frontmatter_block_is_parsed(block: str, values: dict[str, JsonValue]) -> None:
    document = f"---\n{block}---\nbody\n"
    assert split_frontmatter(document) == Frontmatter("body\n", values, is_present=True)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("body\n---\na: b\n---\n", id="a block further down"),
        pytest.param("---\na: b\n", id="a block without an end"),
        pytest.param("---\nUse tabs.\n---\nNever spaces.\n", id="prose between rulers"),
        pytest.param("---\n- a\n- b\n---\n", id="a list"),
        pytest.param("----\na: b\n----\n", id="four dashes"),
        pytest.param(f"---\na: {'b' * MAX_CHARACTERS}\n---\n", id="a block too large"),
        pytest.param("---\n*: [\n---\n", id="nonsense"),
    ],
)
def test_text_without_frontmatter_is_unchanged(text: str) -> None:
    assert split_frontmatter(text) == Frontmatter(text)


def test_a_closing_delimiter_needs_no_line_end() -> None:
    assert split_frontmatter("---\na: b\n---") == Frontmatter("", {"a": "b"}, is_present=True)


@pytest.mark.parametrize(
    ("block", "values", "problem"),
    [
        pytest.param(
            "globs: *.ts,src/**/*.{js,jsx} # of the page\nalwaysApply: false\n",
            {"globs": "*.ts,src/**/*.{js,jsx}", "alwaysApply": False},
            "while scanning an alias",
            id="globs without quotes",
        ),
        pytest.param(
            "a: @b\nc:\n  - 'd'\n  - \"e\"\n",
            {"a": "@b", "c": ["d", "e"]},
            "while scanning for the next token",
            id="a list below a key",
        ),
        pytest.param(
            "a: &x [1]\nb: *x\n",
            {"a": "&x [1]", "b": "*x"},
            "aliases are not allowed",
            id="an alias",
        ),
        pytest.param("a: !!bool x\n", {"a": "!!bool x"}, "tags are not allowed", id="a tag"),
        pytest.param(
            "a: 2026-99-99\n", {"a": "2026-99-99"}, "month must be in 1..12", id="no date"
        ),
        pytest.param(
            f"a: {'[' * 40}{']' * 40}\n",
            {"a": "[" * 40 + "]" * 40},
            "it is nested too deeply",
            id="deep",
        ),
        pytest.param(
            f"a: {'9' * 5_000}\n", {"a": "9" * 5_000}, "Exceeds the limit", id="a number too long"
        ),
    ],
)
def test_an_invalid_yaml_block_is_parsed_line_by_line(
    block: str, values: dict[str, JsonValue], problem: str
) -> None:
    parts = split_frontmatter(f"---\n{block}---\nbody")
    assert (parts.body, parts.values, parts.is_present) == ("body", values, True)
    assert parts.problem.startswith(f"{FRONTMATTER_NOT_PLAIN_YAML}{problem}")


def test_an_alias_bomb_is_refused_quickly() -> None:
    lines = ["a0: &a0 [x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    parts = split_frontmatter("---\n" + "\n".join(lines) + "\n---\nbody")
    assert parts.body == "body"
    assert len(parts.values) == 30


def test_the_deepest_possible_nesting_is_harmless() -> None:
    block = "a: " + "[" * (MAX_CHARACTERS - 100)
    assert split_frontmatter(f"---\n{block}\n---\nbody").body == "body"


@given(st.text(st.sampled_from([*"ab:-[]{}!&*#|>'\"%@`,? \n\t0129.=<~"])))
def test_no_text_raises(block: str) -> None:
    text = f"---\n{block}\n---\nbody"
    assert text.endswith(split_frontmatter(text).body)

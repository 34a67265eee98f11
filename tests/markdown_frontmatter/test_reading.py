"""The block at the beginning of a file: split off and read, whatever it holds."""

import doctest

import pytest
from hypothesis import given
from hypothesis import strategies as st

import markdown_frontmatter
from markdown_frontmatter.reading import MAX_BLOCK_CHARACTERS, read_leniently
from markdown_frontmatter.values import YamlValue


def test_the_docstring_example_runs() -> None:
    assert doctest.testmod(markdown_frontmatter) == (0, 3)


@pytest.mark.parametrize(
    ("block", "values"),
    [
        pytest.param("model: x\n", {"model": "x"}, id="a line"),
        pytest.param("", {}, id="nothing"),
        pytest.param("# only a comment\n", {}, id="a comment"),
        pytest.param(
            "tools: [a, b]\nmode: ask\n", {"tools": ["a", "b"], "mode": "ask"}, id="a list"
        ),
        pytest.param("a:\n  b:\n    - 1\n    - 2.5\n", {"a": {"b": [1, "2.5"]}}, id="nested"),
        pytest.param("on: true\nnone:\n", {"on": True, "none": None}, id="keys are text"),
        pytest.param("day: 2026-11-22\n", {"day": "2026-11-22"}, id="a day is text"),
        pytest.param("a: 2026-99-99\n", {"a": "2026-99-99"}, id="no date"),
        pytest.param(f"a: {'9' * 5_000}\n", {"a": "9" * 5_000}, id="a number too long"),
    ],
)
def test_a_frontmatter_block_is_parsed(block: str, values: dict[str, YamlValue]) -> None:
    fields, body = read_leniently(f"---\n{block}---\nbody\n")
    assert (body, fields.values, fields.problems) == ("body\n", values, ())


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("body\n---\na: b\n---\n", id="a block further down"),
        pytest.param("---\na: b\n", id="a block without an end"),
        pytest.param("---\nUse tabs.\n---\nNever spaces.\n", id="prose between rulers"),
        pytest.param("---\nUse tabs.\n\nNo *stars*\n---\nNo spaces.\n", id="paragraphs"),
        pytest.param("---\n- a\n- b\n---\n", id="a list"),
        pytest.param("----\na: b\n----\n", id="four dashes"),
        pytest.param(f"---\na: {'b' * MAX_BLOCK_CHARACTERS}\n---\n", id="a block too large"),
        pytest.param("---\n*: [\n---\n", id="nonsense"),
    ],
)
def test_text_without_frontmatter_is_unchanged(text: str) -> None:
    fields, body = read_leniently(text)
    assert (body, fields.values, fields.is_broken) == (text, {}, True)


def test_a_closing_delimiter_needs_no_line_end() -> None:
    fields, body = read_leniently("---\na: b\n---")
    assert (body, fields.values) == ("", {"a": "b"})


@pytest.mark.parametrize(
    ("block", "values", "problem"),
    [
        pytest.param(
            "globs: *.ts,src/**/*.{js,jsx}\nalwaysApply: false # for pages\nlevel: 3\n",
            {"globs": "*.ts,src/**/*.{js,jsx}", "alwaysApply": False, "level": 3},
            "did not find expected alphabetic or numeric character",
            id="globs without quotes",
        ),
        pytest.param(
            "a: @b\nc:\n  - 'd'\n  - \"e\"\n",
            {"a": "@b", "c": ["d", "e"]},
            "found character that cannot start any token",
            id="a list below a key",
        ),
        pytest.param(
            "globs:\n  - *.ts\n  - name: *.js\n    kind: @x\n  - b: a: c\n",
            {"globs": ["*.ts", {"name": "*.js", "kind": "@x"}, {"b": "a: c"}]},
            "did not find expected alphabetic or numeric character",
            id="items without quotes",
        ),
        pytest.param(
            "globs: [*.ts, *.js]\n",
            {"globs": "[*.ts, *.js]"},
            "did not find expected alphabetic or numeric character",
            id="globs in brackets",
        ),
        pytest.param(
            "description: Use this\nwhen tests fail\nglobs: [\n  a,\n  *.b\n]\n",
            {"description": "Use this", "globs": "[ a, *.b"},
            "could not find expected ':'",
            id="lines that belong to no field",
        ),
        pytest.param(
            "a: &x [1]\nb: *x\n",
            {"a": "&x [1]", "b": "*x"},
            "aliases (*name) are refused",
            id="an alias",
        ),
        pytest.param(
            f"a: {'[' * 40}{']' * 40}\n",
            {"a": "[" * 40 + "]" * 40},
            "it is nested too deeply",
            id="deep",
        ),
    ],
)
def test_an_invalid_yaml_block_is_read_as_if_quoted(
    block: str, values: dict[str, YamlValue], problem: str
) -> None:
    fields, body = read_leniently(f"---\n{block}---\nbody")
    assert (body, fields.values, fields.is_broken) == ("body", values, False)
    assert fields.problems[0].text.startswith(f"its frontmatter is not valid YAML ({problem}")


def test_an_alias_bomb_is_refused_quickly() -> None:
    lines = ["a0: &a0 [x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    fields, body = read_leniently("---\n" + "\n".join(lines) + "\n---\nbody")
    assert body == "body"
    assert len(fields.values) == 30


def test_the_deepest_possible_nesting_is_harmless() -> None:
    block = "a: " + "[" * (MAX_BLOCK_CHARACTERS - 100)
    _, body = read_leniently(f"---\n{block}\n---\nbody")
    assert body == "body"


@given(st.text(st.sampled_from([*"ab:-[]{}!&*#|>'\"%@`,? \n\t0129.=<~"])))
def test_no_text_raises(block: str) -> None:
    text = f"---\n{block}\n---\nbody"
    _, body = read_leniently(text)
    assert text.endswith(body)

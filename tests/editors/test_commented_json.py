"""JSON with comments: what is read of it, and that a change leaves every other byte alone."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as some
from pydantic import JsonValue

from acp_server.cli.commented_json import (
    MAX_LEVELS,
    CommentedJsonError,
    get_value,
    remove_value,
    set_value,
)

NAMES = ("agents", "ours")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("", '{\n  "agents": {\n    "ours": 1\n  }\n}\n', id="nothing"),
        pytest.param(
            "// mine\n", '// mine\n{\n  "agents": {\n    "ours": 1\n  }\n}\n', id="a comment alone"
        ),
        pytest.param("{}", '{\n  "agents": {\n    "ours": 1\n  }\n}', id="an empty object"),
        pytest.param(
            '{\n  "a": 1 // one\n}\n',
            '{\n  "a": 1, // one\n  "agents": {\n    "ours": 1\n  }\n}\n',
            id="a comment behind the last member",
        ),
        pytest.param(
            '{\n  "a": 1, // one\n}\n',
            '{\n  "a": 1, // one\n  "agents": {\n    "ours": 1\n  },\n}\n',
            id="a trailing comma",
        ),
        pytest.param(
            '{\r\n\t"a": 1\r\n}\r\n',
            '{\r\n\t"a": 1,\r\n\t"agents": {\r\n\t\t"ours": 1\r\n\t}\r\n}\r\n',
            id="tabs and CRLF",
        ),
        pytest.param(
            '\ufeff{"a": 1 }',
            '\ufeff{"a": 1,\n  "agents": {\n    "ours": 1\n  }\n}',
            id="a byte order mark and one line",
        ),
        pytest.param(
            '{\n    "agents": {\n        // none yet\n    }\n}',
            '{\n    "agents": {\n        "ours": 1\n        // none yet\n    }\n}',
            id="an object of comments",
        ),
        pytest.param(
            '{\n  "agents": {"ours": 2, /* two */ "theirs": 3}\n}',
            '{\n  "agents": {"ours": 1, /* two */ "theirs": 3}\n}',
            id="another value there",
        ),
        pytest.param(
            '{"agents": {"ours": 1}} // }',
            '{"agents": {"ours": 1}} // }',
            id="the same value there",
        ),
        pytest.param(
            '{"agents": 1, "agents": {"ours": 2}}',
            '{"agents": 1, "agents": {"ours": 1}}',
            id="a name that stands twice",
        ),
        pytest.param(
            '{"url": "http://x/*y*/", "agents": {"ours": 2}}',
            '{"url": "http://x/*y*/", "agents": {"ours": 1}}',
            id="what looks like comments in a string",
        ),
    ],
)
def test_a_value_is_inserted_and_everything_else_is_unchanged(before: str, after: str) -> None:
    assert set_value(before, NAMES, 1) == after
    assert get_value(after, NAMES) == 1


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("[]", "line 1: the top-level value is not an object", id="a list"),
        pytest.param(
            '{\n\n"agents": []}', "line 3: agents is not an object", id="a list on the way"
        ),
        pytest.param('{"a": }', "line 1: expected a value", id="no value"),
        pytest.param('{"a": 1 "b": 2}', "line 1: expected a comma or }", id="no comma"),
        pytest.param('{"a": [1 2]}', "line 1: expected a comma or ]", id="no comma in a list"),
        pytest.param("{a: 1}", "line 1: expected a name in double quotes", id="a bare name"),
        pytest.param('{"a" 1}', "line 1: expected a colon", id="no colon"),
        pytest.param('{"a": "x\n"}', "line 1: expected a value", id="a string over lines"),
        pytest.param("{} {}", "line 1: unexpected text after the end", id="two objects"),
        pytest.param("{ /* }", "line 1: expected a name in double quotes", id="an open comment"),
        pytest.param('{"a": 1,,}', "line 1: expected a name in double quotes", id="two commas"),
        pytest.param('{"a":' * (MAX_LEVELS + 1), "line 1: nested too deeply", id="too deep"),
    ],
)
def test_unparsable_settings_are_refused_with_their_line(text: str, reason: str) -> None:
    with pytest.raises(CommentedJsonError, match=f"^{re.escape(reason)}$"):
        set_value(text, NAMES, 1)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"a": 1, "x": 2, "b": 3}', '{"a": 1, "b": 3}'),
        ('{"a": 1, "x": 2}', '{"a": 1 }'),
        ('{"x": 2}', "{}"),
        ('{\n  "a": 1, // one\n  "x": 2 // two\n}\n', '{\n  "a": 1 // one\n}\n'),
        ('{\n  "x": 2,\n  // of a\n  "a": 1,\n}\n', '{\n  // of a\n  "a": 1,\n}\n'),
        ('{"x": 1, "a": 1, "x": 2}', '{"a": 1 }'),
        ('{"a": 1}', '{"a": 1}'),
        ("// nothing\n", "// nothing\n"),
    ],
)
def test_a_member_is_removed_and_everything_else_stays(before: str, after: str) -> None:
    assert remove_value(before, ["x"]) == after


VALUES = some.recursive(
    some.none() | some.booleans() | some.integers() | some.text(max_size=5),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=3), inner),
    max_leaves=8,
)
BLANKS = some.sampled_from(["", " ", "\n", "\t", "// }\n", "/* { */", " /*\n*/ "])


@some.composite
def commented(draw: some.DrawFn, value: JsonValue) -> str:
    """Write a value with blanks, comments and trailing commas wherever they may stand."""
    if isinstance(value, dict):
        pieces = [
            f"{draw(BLANKS)}{json.dumps(name)}{draw(BLANKS)}:{draw(commented(each))}"
            for name, each in value.items()
        ]
    elif isinstance(value, list):
        pieces = [draw(commented(each)) for each in value]
    else:
        return f"{draw(BLANKS)}{json.dumps(value)}{draw(BLANKS)}"
    comma = "," if pieces and draw(some.booleans()) else ""
    first, last = "{}" if isinstance(value, dict) else "[]"
    return f"{draw(BLANKS)}{first}{','.join(pieces)}{comma}{draw(BLANKS)}{last}{draw(BLANKS)}"


@given(some.data(), some.dictionaries(some.text(max_size=3), VALUES, max_size=4))
def test_any_settings_keep_their_values_and_gain_the_new_one(
    data: some.DataObject, value: dict[str, JsonValue]
) -> None:
    text = data.draw(commented(value))
    name = data.draw(some.sampled_from([*value, "new"]))
    changed = set_value(text, [name], ["put"])
    assert get_value(changed, []) == {**value, name: ["put"]}
    assert set_value(changed, [name], ["put"]) == changed
    if name == "new":
        remaining = iter(changed)
        assert all(character in remaining for character in "".join(text.split())), "nothing went"


@given(some.data(), some.dictionaries(some.text(max_size=3), VALUES, min_size=1, max_size=4))
def test_any_settings_keep_all_other_values_without_one(
    data: some.DataObject, value: dict[str, JsonValue]
) -> None:
    text = data.draw(commented(value))
    name = data.draw(some.sampled_from([*value]))
    remaining = {each: value[each] for each in value if each != name}
    assert get_value(remove_value(text, [name]), []) == remaining

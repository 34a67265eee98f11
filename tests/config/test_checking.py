"""What is said of a file of settings that is wrong, and in which line."""

import pytest

from acp_server.config.checking import check_dotenv, check_yaml
from tests.support.case_table import each_case


def format_problems(text: str) -> list[str]:
    return [f"{problem.line} {problem}" for problem in check_yaml(text)]


@each_case(
    ("text", "expected"),
    [
        ("log:\n  levle: info", ["2 log.levle: is not known; did you mean log.level?"]),
        (
            "\nread_timeout_seconds: 3",
            ["2 read_timeout_seconds: is not known; did you mean endpoint.read_timeout_seconds?"],
        ),
        ("mode: plan", ["1 mode: is not known; did you mean default_mode?"]),
        ("quite_different: 1", ["1 quite_different: is not known"]),
        (
            "api_key: x",
            ["1 api_key: API keys do not belong in this file; run `acp-server setup` to store one"],
        ),
        ("log.level: info", ["1 log.level: dotted keys are not supported; nest the keys"]),
        (
            "model: a\nmodel: b",
            ["2 model: is a duplicate key; the last one is used"],
        ),
        ("log: info", ["1 log: must be a mapping of keys to values"]),
        ("log:\n- level", ["2 log: must be a mapping of keys to values"]),
        (
            "log:\n  level: loud",
            ["2 log.level: must be 'debug', 'info', 'warning' or 'error'"],
        ),
        ("model:\n  default: 5", ["2 model.default: must be a text"]),
        ("model: 5", ["1 model.default: must be a text"]),
        (
            "skills:\n  disabled:\n    - a\n    - [b]",
            ["4 skills.disabled.1: must be a text"],
        ),
        (
            "mcp_servers:\n  a:\n    args: []\n  b:\n    url: x",
            [
                "3 mcp_servers.a.command: is missing",
                "5 mcp_servers.b.url: must begin with http:// or https://",
            ],
        ),
        (
            "mcp_servers:\n  a: {command: x, comand: y}\n  b:\n    url: http://x\n    header: {}",
            [
                "2 mcp_servers.a.comand: is not known; did you mean mcp_servers.a.command?",
                "5 mcp_servers.b.header: is not known; did you mean mcp_servers.b.headers?",
            ],
        ),
        ("a: [", ["1 not YAML: expected the node content, but found '<stream end>'"]),
        ("a: 2001-99-99", ["None not YAML"]),
        ("- a", ["1 must be a mapping of keys to values"]),
        ("b: 1\nlog: {level: x}\na: 1", None),
    ],
)
def test_each_mistake_is_reported_with_its_line(text: str, expected: list[str] | None) -> None:
    found = format_problems(text)
    if expected is None:
        assert [line.split()[0] for line in found] == ["1", "2", "3"]
    else:
        assert found == expected


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# only a comment",
        "model: short",
        "model:\nlog:",
        "skills: {curator: off, review_writes: off}",
        "base: &name {level: info}\nlog: *name",
        "log:\n  <<: {level: info}",
    ],
)
def test_valid_settings_are_not_reported(text: str) -> None:
    assert [each for each in format_problems(text) if "base" not in each] == []


def test_unknown_keys_in_a_shared_file_are_notices() -> None:
    text = "display: {compact: true}\ndefault_mode: x"
    found = check_yaml(text, is_shared=True)
    assert [(each.key, each.is_notice) for each in found] == [
        ("default_mode", False),
        ("display.compact", True),
    ]


def test_variables_are_reported_with_their_lines_and_without_their_values() -> None:
    text = """\
ACP_SERVER_MODEL=a
export ACP_SERVER_MODE=a-secret
this is no assignment
OTHER=1
ACP_SERVER_MODUS=x
"""
    modes = "must be 'ask', 'accept_edits', 'plan' or 'bypass'"
    guesses = "ACP_SERVER_MODE or ACP_SERVER_MODEL"
    assert [(each.line, str(each)) for each in check_dotenv(text)] == [
        (2, f"ACP_SERVER_MODE: {modes}"),
        (3, "is not an assignment NAME=VALUE"),
        (5, f"ACP_SERVER_MODUS: is not known; did you mean {guesses}?"),
    ]

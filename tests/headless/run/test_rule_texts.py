"""Rules of a run as a person writes them."""

from pathlib import Path

import pytest

from acp_server.headless.run.rule_parsing import RuleError, policy_from, rule_from
from acp_server.permissions.run_rules import Order


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("terminal", Order("allow", ("terminal",), written="terminal")),
        (
            "terminal(make test:*)",
            Order(
                "allow",
                ("terminal",),
                commands=(("make", "test"),),
                written="terminal(make test:*)",
            ),
        ),
        (
            "edit(src/**)",
            Order("allow", ("write_file", "patch"), paths=("src/**",), written="edit(src/**)"),
        ),
        (
            "web_fetch(*.example.com)",
            Order(
                "allow",
                ("web_fetch",),
                hosts=("*.example.com",),
                written="web_fetch(*.example.com)",
            ),
        ),
        (
            "github__list_issues",
            Order("allow", ("github__list_issues",), written="github__list_issues"),
        ),
    ],
    ids=["tool", "command", "group with paths", "host", "tool of a server"],
)
def test_a_rule_of_the_command_line_is_understood(text: str, order: Order) -> None:
    assert rule_from("allow", text) == order


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("teleport", "there is no tool 'teleport'"),
        ("terminal(make", "is not a rule"),
        ("terminal('make)", "cannot be parsed as the start of a command"),
        ("terminal(:*)", "names no command"),
    ],
    ids=["no tool", "no end", "quotes", "nothing"],
)
def test_what_is_no_rule_says_why(text: str, reason: str) -> None:
    with pytest.raises(RuleError, match=reason):
        rule_from("allow", text)


def test_a_file_of_rules_keeps_their_order(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(
        'ask = "fail"\n'
        '[[rules]]\naction = "deny"\ntool = "terminal"\ncommand = ["git push", "rm"]\n'
        '[[rules]]\naction = "allow"\ntool = ["edit"]\npath = "docs/"\n'
    )
    policy = policy_from(file)
    assert policy.fails_when_asked
    assert policy.rules == (
        Order("deny", ("terminal",), commands=(("git", "push"), ("rm",)), written="rule 1"),
        Order("allow", ("write_file", "patch"), paths=("docs/",), written="rule 2"),
    )


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("rules = 3", "rules"),
        ("[[rules]]\naction = 'maybe'", "action"),
        ("[[rules]]\naction = 'deny'\ntol = 'x'", "tol"),
        ("=", "policy.toml"),
    ],
    ids=["shape", "action", "unknown key", "no TOML"],
)
def test_a_wrong_file_of_rules_says_where(tmp_path: Path, text: str, reason: str) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(text)
    with pytest.raises(RuleError, match=reason):
        policy_from(file)

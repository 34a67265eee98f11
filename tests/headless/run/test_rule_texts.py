"""Rules of a run as a person writes them."""

from pathlib import Path

import pytest

from acp_server.headless.run.rule_parsing import RuleError, load_rules_file, parse_rule
from acp_server.permissions.run_rules import RunRule


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("terminal", RunRule("allow", ("terminal",), source_text="terminal")),
        (
            "terminal(make test:*)",
            RunRule(
                "allow",
                ("terminal",),
                commands=(("make", "test"),),
                source_text="terminal(make test:*)",
            ),
        ),
        (
            "edit(src/**)",
            RunRule(
                "allow", ("write_file", "patch"), paths=("src/**",), source_text="edit(src/**)"
            ),
        ),
        (
            "web_fetch(*.example.com)",
            RunRule(
                "allow",
                ("web_fetch",),
                hosts=("*.example.com",),
                source_text="web_fetch(*.example.com)",
            ),
        ),
        (
            "github__list_issues",
            RunRule("allow", ("github__list_issues",), source_text="github__list_issues"),
        ),
        (
            "skill_variables(weather)",
            RunRule(
                "allow",
                ("skill_variables",),
                skills=("weather",),
                source_text="skill_variables(weather)",
            ),
        ),
    ],
    ids=["tool", "command", "group with paths", "host", "tool of a server", "skill"],
)
def test_a_command_line_rule_is_parsed(text: str, order: RunRule) -> None:
    assert parse_rule("allow", text) == order


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
def test_an_invalid_rule_is_refused_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(RuleError, match=reason):
        parse_rule("allow", text)


def test_a_rule_file_keeps_the_order_of_its_rules(tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(
        'ask = "fail"\n'
        '[[rules]]\naction = "deny"\ntool = "terminal"\ncommand = ["git push", "rm"]\n'
        '[[rules]]\naction = "allow"\ntool = ["edit"]\npath = "docs/"\n'
    )
    policy = load_rules_file(file)
    assert policy.stop_on_question
    assert policy.rules == (
        RunRule("deny", ("terminal",), commands=(("git", "push"), ("rm",)), source_text="rule 1"),
        RunRule("allow", ("write_file", "patch"), paths=("docs/",), source_text="rule 2"),
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
def test_an_invalid_rule_file_is_refused_with_the_location(
    tmp_path: Path, text: str, reason: str
) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(text)
    with pytest.raises(RuleError, match=reason):
        load_rules_file(file)

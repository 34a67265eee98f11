"""Rules of Claude Code's settings that deny or ask: they restrict without trust."""

import json
from pathlib import Path

import pytest

from acp_server.permissions.claude_rule_reading import describe_rules
from acp_server.permissions.claude_settings import ClaudeSettings
from acp_server.permissions.effects import (
    Effect,
    FileTarget,
    ReadFiles,
    RunCommandEffect,
    WriteFiles,
)
from acp_server.permissions.facts import FactCollector
from acp_server.permissions.modes import Mode
from acp_server.permissions.policy import Allow, Ask, Decision, Refuse, decide
from acp_server.permissions.rules import RuleBook
from acp_server.permissions.run_rules import restrict
from tests.prompt_engine.sources.trees import write_tree
from tests.support.case_table import each_case

SETTINGS = {
    "permissions": {
        "deny": [
            "Bash(curl:*)",
            "Bash(git * main)",
            "Read(./secrets/**)",
            "Edit(/generated/**)",
            "WebFetch(domain:example.org)",
            "mcp__db__drop",
            "Unknown(x)",
        ],
        "ask": ["Bash(git push *)", "Write(*.lock)"],
        "allow": ["Bash(rm:*)"],
    },
    "hooks": {"PreToolUse": [{"hooks": [{"command": "touch owned"}]}]},
}
"""What Claude Code writes into `.claude/settings.json`."""


def write_settings(root: Path, settings: object = SETTINGS) -> FactCollector:
    tree = {".claude/settings.json": json.dumps(settings), "secrets/a.txt": "", "b.py": ""}
    write_tree(root, tree)
    return FactCollector([root], root / "user", root / "home")


def judge(facts: FactCollector, root: Path, tool: str, effect: Effect, mode: Mode) -> Decision:
    found = facts.collect(effect)
    decision = decide(found, mode, RuleBook())
    return restrict(decision, facts.claude_rules().rules, tool, found, root)


def run(command: str, root: Path) -> RunCommandEffect:
    return RunCommandEffect(command, FileTarget(root, root, is_inside=True))


COMMANDS = {
    "curl https://x.example": Refuse,
    "ls && curl x": Refuse,
    "env curl x": Refuse,
    "bash -c 'curl x'": Refuse,
    "git push origin main": Refuse,
    "git push origin topic": Ask,
    "git status": Allow,
    "rm -r b.py": Ask,
    "cat secrets/a.txt": Ask,
    "cat b.py": Allow,
}


@each_case(("command", "verdict"), COMMANDS.items(), ids=COMMANDS)
def test_commands_are_judged_by_the_rules(
    tmp_path: Path, command: str, verdict: type[Decision]
) -> None:
    facts = write_settings(tmp_path)
    decision = judge(facts, tmp_path, "terminal", run(command, tmp_path), "ask")
    assert isinstance(decision, verdict), decision


def test_a_denial_holds_in_every_mode(tmp_path: Path) -> None:
    facts = write_settings(tmp_path)
    decision = judge(facts, tmp_path, "terminal", run("curl x", tmp_path), "bypass")
    assert isinstance(decision, Refuse)
    assert ".claude/settings.json" in decision.reason


@pytest.mark.parametrize(
    ("tool", "name", "verdict"),
    [
        ("read_file", "secrets/a.txt", Refuse),
        ("read_file", "b.py", Allow),
        ("write_file", "generated/x.py", Refuse),
        ("patch", "uv.lock", Ask),
        ("patch", "b.py", Allow),
    ],
)
def test_files_are_judged_by_the_rules(
    tmp_path: Path, tool: str, name: str, verdict: type[Decision]
) -> None:
    facts = write_settings(tmp_path)
    target = FileTarget(tmp_path / name, tmp_path / name, is_inside=True)
    effect = ReadFiles((target,)) if tool == "read_file" else WriteFiles((target,))
    decision = judge(facts, tmp_path, tool, effect, "accept_edits")
    assert isinstance(decision, verdict), decision


def test_rules_are_read_again_and_a_broken_file_has_none(tmp_path: Path) -> None:
    settings = ClaudeSettings([tmp_path], tmp_path / "user")
    assert settings.rules().rules == ()
    write_settings(tmp_path)
    assert len(settings.rules().rules) == 8
    (tmp_path / ".claude/settings.json").write_text("{")
    assert settings.rules().rules == ()


def test_the_user_s_own_rules_count_too(tmp_path: Path) -> None:
    write_tree(tmp_path, {"user/.claude/settings.json": json.dumps(SETTINGS), "w/b.py": ""})
    assert len(ClaudeSettings([tmp_path / "w"], tmp_path / "user").rules().rules) == 8


def test_rules_and_hooks_are_described(tmp_path: Path) -> None:
    text = describe_rules(write_settings(tmp_path).claude_rules())
    assert "- forbidden: `Bash(curl:*) in " in text
    assert "- asks: `Write(*.lock) in " in text
    assert "hooks that are not run: PreToolUse" in text
    assert "- not used, wider than what can be allowed here: `Bash(rm:*) in " in text

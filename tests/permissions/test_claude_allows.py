"""What Claude Code's settings allow: only what the user agreed to, and no more than an answer."""

import json
from collections.abc import Iterator
from pathlib import Path

from acp_server.permissions.claude_allows import AllowedFile, read_allowed
from acp_server.permissions.claude_rule_reading import describe_rules
from acp_server.permissions.claude_settings import ClaudeSettings
from acp_server.permissions.effects import (
    Effect,
    FileTarget,
    RunCommandEffect,
    WriteFiles,
)
from acp_server.permissions.facts import FactCollector
from acp_server.permissions.policy import Allow, Ask, Decision, decide
from acp_server.permissions.rules import RuleBook
from acp_server.permissions.scopes import (
    CommandPattern,
    CommandScope,
    DirectoryScope,
    Scope,
    SiteScope,
)
from tests.permissions.gates import GateSetup
from tests.prompt_engine.sources.trees import write_tree
from tests.support.case_table import each_case
from tests.support.user_texts import ALLOWED_ONCE_AGREED

PROJECT, OWN = ".claude/settings.json", "user/.claude/settings.json"


def write_rules(root: Path, *rules: str, file: str = PROJECT) -> None:
    write_tree(root, {file: json.dumps({"permissions": {"allow": rules}})})


def read(root: Path, *rules: str, is_own: bool = False) -> AllowedFile | None:
    path = root / (OWN if is_own else PROJECT)
    return read_allowed(rules, path, root, root / "user", is_own=is_own)


def scopes_of(root: Path, rule: str, *, is_own: bool = False) -> list[Scope]:
    found = read(root, rule, is_own=is_own)
    return [] if found is None else [each.scope for each in found.rules]


def expressible(root: Path) -> Iterator[tuple[str, Scope]]:
    yield "Bash(npm test)", CommandScope((CommandPattern(("npm", "test"), root, is_exact=True),))
    prefix = CommandScope((CommandPattern(("npm", "run", "build"), root),))
    yield "Bash(npm run build:*)", prefix
    yield "Bash(npm run build *)", prefix
    yield "Bash(git status:*)", CommandScope((CommandPattern(("git", "status"), root),))
    yield "WebFetch(domain:Docs.example.com)", SiteScope("docs.example.com")
    yield "Edit", DirectoryScope("write", root)
    yield "Write(*)", DirectoryScope("write", root)
    yield "MultiEdit(/src/**)", DirectoryScope("write", root / "src")
    yield "Edit(./src/)", DirectoryScope("write", root / "src")
    yield "Read", DirectoryScope("read", root)


def test_rules_become_what_an_answer_could_save(tmp_path: Path) -> None:
    for rule, scope in expressible(tmp_path):
        assert scopes_of(tmp_path, rule) == [scope], rule


WIDER = (
    *("Bash", "Bash(*)", "Bash(:*)", "Bash(a; b)", "Bash(a $(b):*)", "Bash(git * main)"),
    *("Bash(git:*)", "Bash(rm:*)", "Bash(npm run:*)", "Bash(python:*)", "Bash(rm -rf /)"),
    *("Bash(npm test", "WebFetch", "WebFetch(domain:*.example.com)", "WebFetch(x)"),
    *("Edit(src/*)", "Edit(*.md)", "Edit(src/a.py)", "Edit(../**)", "Edit(//etc/**)"),
    *("Edit(~/**)", "Read(//**)", "mcp__db__query", "Task", "Unknown", f"Bash({'x' * 200})"),
    "Bash(npm\u202e test)",
)


@each_case("rule", WIDER, ids=map(repr, WIDER))
def test_a_rule_that_no_answer_could_save_allows_nothing(tmp_path: Path, rule: str) -> None:
    found = read(tmp_path, rule)
    assert found is not None
    assert (found.rules, found.use, len(found.unused)) == ((), None, 1)


def test_a_link_out_of_the_workspace_allows_nothing_outside(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work/link").symlink_to(tmp_path)
    assert scopes_of(tmp_path / "work", "Edit(link/**)") == []


def test_only_the_users_own_file_names_directories_outside_the_workspace(tmp_path: Path) -> None:
    notes = DirectoryScope("read", tmp_path / "user/notes")
    work = tmp_path / "work"
    path = tmp_path / OWN
    for is_own, expected in ((True, [notes]), (False, [])):
        file = path if is_own else work / PROJECT
        found = read_allowed(["Read(~/notes/**)"], file, work, tmp_path / "user", is_own=is_own)
        assert found is not None
        assert [each.scope for each in found.rules] == expected


def decide_with(root: Path, effect: Effect, *, is_approved: bool) -> Decision:
    facts = FactCollector([root], root / "user", root / "home")
    found = facts.claude_rules()
    uses = [file.use.digest for file in found.allowed if file.use is not None]
    rules = RuleBook(list(found.allowed_by(uses if is_approved else ())))
    return decide(facts.collect(effect), "ask", rules)


def run(command: str, root: Path) -> RunCommandEffect:
    return RunCommandEffect(command, FileTarget(root, root, is_inside=True))


def write(name: str, root: Path) -> WriteFiles:
    return WriteFiles((FileTarget(root / name, root / name, is_inside=True),))


RULES = ("Bash(npm run test:*)", "Bash(git:*)", "Bash(make x)", "Edit(src/**)", "Bash(rm -rf x)")


COMMANDS = {
    "npm run test -- -v": Allow,
    "npm run test && npm run test": Allow,
    "npm run test && npm run other": Ask,
    "npm run other": Ask,
    "git push": Ask,
    "make x": Allow,
    "make x y": Ask,
    "npm run test > .env": Ask,
}
EDITS = {
    "src/a.py": Allow,
    "b.py": Ask,
    "src/.env": Ask,
    "src/.vscode/tasks.json": Ask,
}


@each_case(("command", "verdict"), COMMANDS.items(), ids=COMMANDS)
def test_an_approved_rule_allows_the_commands_that_an_answer_would(
    tmp_path: Path, command: str, verdict: type[Decision]
) -> None:
    write_rules(tmp_path, *RULES)
    effect = run(command, tmp_path)
    assert isinstance(decide_with(tmp_path, effect, is_approved=True), verdict)
    assert isinstance(decide_with(tmp_path, effect, is_approved=False), Ask)


@each_case(("name", "verdict"), EDITS.items(), ids=EDITS)
def test_an_approved_rule_allows_the_edits_that_an_answer_would(
    tmp_path: Path, name: str, verdict: type[Decision]
) -> None:
    write_rules(tmp_path, *RULES)
    effect = write(name, tmp_path)
    assert isinstance(decide_with(tmp_path, effect, is_approved=True), verdict)
    assert isinstance(decide_with(tmp_path, effect, is_approved=False), Ask)


def test_a_change_of_the_rules_needs_consent_again_and_another_order_does_not(
    tmp_path: Path,
) -> None:
    found = [read(tmp_path, *rules) for rules in (("Edit", "Read"), ("Read", "Edit"), ("Edit",))]
    digests = [each.use.digest for each in found if each is not None and each.use is not None]
    assert digests[0] == digests[1] != digests[2]


def test_a_gate_counts_approved_rules_and_a_rejection_outweighs_them(tmp_path: Path) -> None:
    gate = GateSetup(tmp_path).gate()
    write_rules(gate.root, "Edit(src/**)", "Bash")
    (use,) = gate.list_project_rules()
    assert use.phrase.endswith("settings.json, which allow without a question: `Edit(src/**)`")
    assert f"- {ALLOWED_ONCE_AGREED}: `Edit(src/**) in " in gate.describe_project_rules()
    gate.approve_project_rules([use.digest])
    assert "- allowed: `Edit(src/**) in " in gate.describe_project_rules()
    assert "- not used, wider than what can be allowed here: `Bash in" in (
        gate.describe_project_rules()
    )


def test_the_users_own_rules_count_at_once(tmp_path: Path) -> None:
    write_rules(tmp_path, "Edit(src/**)", file=OWN)
    (tmp_path / "work").mkdir()
    rules = ClaudeSettings([tmp_path / "work"], tmp_path / "user").rules()
    assert [each.scope for each in rules.allowed_by(())] == [
        DirectoryScope("write", tmp_path / "work/src")
    ]
    assert f"- allowed: `Edit(src/**) in {tmp_path / OWN}`" in describe_rules(rules)

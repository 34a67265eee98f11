"""Files that are kept from a command which only the sandbox has approved, and who may be so."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from acp_server.permissions import protected_paths, shielded_files
from acp_server.permissions.effects import FileTarget, RunCommandEffect, SandboxStatus
from acp_server.permissions.facts import FactCollector
from acp_server.permissions.ignore_files import IgnoreFiles
from acp_server.permissions.policy import Allow, Ask, CommandFacts, Decision, decide
from acp_server.permissions.questions import PermissionQuestion
from acp_server.permissions.resolved_workspace import ResolvedWorkspace, resolve_workspace
from acp_server.permissions.rule_store import RuleStore
from acp_server.permissions.rules import PermissionRule, RuleBook
from acp_server.permissions.scopes import ConfinedCommandsScope, DirectoryScope
from acp_server.permissions.shielded_files import Shield, UnshieldableError, find_shield
from tests.permissions.confined_attempts import ASKED, PASSED
from tests.permissions.gates import GateSetup
from tests.support.case_table import each_case

ALL_CONFINED = RuleBook([PermissionRule(ConfinedCommandsScope(), is_allowed=True)])
FILES = (
    *(".env", "conf/server.pem", ".aws/deep/x", ".hermesignore", "plans/secret.md", "a.py"),
    *(".git/HEAD", ".git/config", ".git/hooks/x.sample", ".git/modules/sub/HEAD"),
    *(".git/modules/sub/objects/x", ".git/modules/sub/config", ".git/modules/sub/hooks/x"),
    *(".vscode/tasks.json", "web/.husky/pre-push", ".claude/agents/x.md", ".claude/settings.json"),
    *(".github/workflows/ci.yml", ".github/README.md", ".pre-commit-config.yaml", "Jenkinsfile"),
    *("node_modules/x/.env", ".venv/bin/python", "no-repository/.git/x"),
)
HIDDEN = (".env", "conf/server.pem", ".aws/deep/x", ".hermesignore", "plans/secret.md")
READ_ONLY = (
    *(".git/hooks", ".git/config", ".git/modules/sub/hooks", ".git/modules/sub/config"),
    *(".vscode", "web/.husky", ".claude/agents", ".claude/settings.json", ".github/workflows"),
    *(".pre-commit-config.yaml", "Jenkinsfile"),
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = (tmp_path / "root").resolve()
    for name in FILES:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("plans/*.md\n" if name == ".hermesignore" else "")
    (root / "link").symlink_to(".env")
    return root


def collector(root: Path) -> FactCollector:
    return FactCollector((root,), root.parent / "home", root.parent / "home/own")


def shield_of(root: Path, *hooks: Path) -> Shield:
    home = root.parent / "home"
    return find_shield(resolve_workspace([root], home / "own", IgnoreFiles(), home), hooks)


def facts_on(
    root: Path, command: str, status: SandboxStatus = "confined", *, is_isolated: bool = True
) -> CommandFacts:
    target = FileTarget(root, root, is_inside=True)
    effect = RunCommandEffect(command, target, sandbox_status=status, is_isolated=is_isolated)
    facts = collector(root).collect(effect)
    assert isinstance(facts, CommandFacts)
    return facts


def decision_on(root: Path, command: str, rules: RuleBook = ALL_CONFINED) -> Decision:
    return decide(facts_on(root, command), "ask", rules)


def test_secrets_and_what_others_run_are_shielded(root: Path) -> None:
    shield = shield_of(root)
    assert {str(each.relative_to(root)) for each in shield.hidden} == set(HIDDEN)
    assert {str(each.relative_to(root)) for each in shield.read_only} == set(READ_ONLY)


def test_the_workspace_is_resolved_once_for_a_command(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolved: list[tuple[Path, ...]] = []

    def resolve(
        roots: Sequence[Path], config_home: Path, ignore_files: IgnoreFiles, home: Path
    ) -> ResolvedWorkspace:
        resolved.append(tuple(roots))
        return resolve_workspace(roots, config_home, ignore_files, home)

    monkeypatch.setattr(protected_paths, "resolve_workspace", resolve)
    found = facts_on(root, "make all && make check")
    assert found.shield is not None
    assert len(found.parts) == 2
    assert resolved == [(root,)]


def test_hooks_elsewhere_are_shielded_with_the_settings_beside_them(root: Path) -> None:
    hooks = root.parent / "main/.git/hooks"
    hooks.mkdir(parents=True)
    (hooks.parent / "config").write_text("")
    found = shield_of(root, hooks, root / ".git/hooks").read_only
    assert set(found) == {*(root / each for each in READ_ONLY), hooks, hooks.parent / "config"}
    assert len(found) == len(set(found))


@pytest.mark.parametrize("limit", ["MAX_ENTRIES", "MAX_SHIELDED"])
def test_a_workspace_beyond_the_limits_cannot_be_shielded(
    root: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(shielded_files, limit, 3)
    with pytest.raises(UnshieldableError):
        shield_of(root)
    assert facts_on(root, "make").shield is None


def test_without_a_directory_of_hooks_a_repository_cannot_be_shielded(root: Path) -> None:
    (root / ".git/hooks/x.sample").unlink()
    (root / ".git/hooks").rmdir()
    with pytest.raises(UnshieldableError):
        shield_of(root)
    (root / ".git/hooks").symlink_to(root.parent)
    with pytest.raises(UnshieldableError):
        shield_of(root)


@each_case("command", PASSED)
def test_one_answer_covers_what_the_sandbox_confines(root: Path, command: str) -> None:
    asked = decision_on(root, command, RuleBook())
    assert isinstance(asked, Ask | Allow)
    assert decision_on(root, command) == Allow(shield_of(root) if asked != Allow() else None)


@each_case("command", ASKED)
def test_that_answer_covers_nothing_that_removes_sends_or_names_secrets(
    root: Path, command: str
) -> None:
    decision = decision_on(root, command)
    assert isinstance(decision, Ask)
    assert decision.shield is None


@pytest.mark.parametrize(
    ("status", "is_isolated"),
    [("free", False), ("unconfined", True), ("unprotected", True), ("networked", True)],
)
def test_it_covers_nothing_where_the_sandbox_is_missing_or_open(
    root: Path,
    status: SandboxStatus,
    is_isolated: bool,  # noqa: FBT001
) -> None:
    facts = facts_on(root, "make", status, is_isolated=is_isolated)
    assert facts.shield is None
    assert isinstance(decide(facts, "ask", ALL_CONFINED), Ask)
    assert facts_on(root, "make", is_isolated=False).shield is None


def test_it_is_not_saved(tmp_path: Path) -> None:
    store = RuleStore(tmp_path / "permissions.json")
    store.add(tmp_path, PermissionRule(ConfinedCommandsScope(), is_allowed=True))
    assert list(store.load(tmp_path)) == []


async def test_the_tool_learns_what_to_keep_from_a_command(tmp_path: Path) -> None:
    setup = GateSetup(tmp_path)
    gate = setup.gate()
    (setup.root / ".env").write_text("KEY=1")
    noted: list[Shield] = []

    def question(command: str) -> PermissionQuestion:
        asked = setup.command(command, command, sandbox_status="confined")
        assert isinstance(asked.effect, RunCommandEffect)
        effect = replace(asked.effect, is_isolated=True)
        return replace(asked, effect=effect, note_shield=noted.append)

    async def answer() -> None:
        (await setup.user.wait_for_question(0)).answer("allow_confined")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(answer)
        assert await gate.authorize(question("make")) is None
    assert await gate.authorize(question("./x.sh")) is None
    assert await gate.authorize(question("ls")) is None
    assert noted == [Shield((setup.root.resolve() / ".env",))] * 2
    assert len(setup.user.asked) == 1


OUTSIDE = "cat ../other/a ../other/deep/b"


def read_rule(directory: Path, *, is_allowed: bool = True) -> RuleBook:
    return RuleBook([PermissionRule(DirectoryScope("read", directory), is_allowed)])


def test_an_answer_for_reading_a_directory_covers_commands_that_only_read(root: Path) -> None:
    other = root.parent / "other"
    (other / "deep").mkdir(parents=True)
    asked = decision_on(root, OUTSIDE, RuleBook())
    assert isinstance(asked, Ask)
    assert asked.scope == DirectoryScope("read", other)
    assert asked.reason.startswith(f"{other}/a is outside the workspace")
    assert decision_on(root, OUTSIDE, read_rule(other)) == Allow()
    for command in (f"{OUTSIDE} ../b", f"{OUTSIDE} > x", f"{OUTSIDE} ../other/.env", "ls .."):
        assert isinstance(decision_on(root, command, read_rule(other)), Ask), command
    assert not isinstance(decision_on(root, OUTSIDE, read_rule(other, is_allowed=False)), Ask)


def test_reading_outside_is_covered_neither_outside_the_sandbox_nor_without_one(root: Path) -> None:
    other = root.parent / "other"
    for status in ("unconfined", "unprotected"):
        facts = facts_on(root, OUTSIDE, status)
        assert isinstance(decide(facts, "ask", read_rule(other)), Ask)
        asked = decide(facts, "ask", RuleBook())
        assert isinstance(asked, Ask)
        assert asked.scope is None


def test_a_command_that_is_not_known_to_read_is_covered_outside_only_if_it_is_shielded(
    root: Path,
) -> None:
    other = root.parent / "other"
    rules = [*read_rule(other).rules, *ALL_CONFINED.rules]
    assert isinstance(decision_on(root, "node ../other/x", read_rule(other)), Ask)
    assert isinstance(decision_on(root, "node ../other/x", ALL_CONFINED), Ask)
    assert decision_on(root, "node ../other/x", RuleBook(rules)) == Allow(shield_of(root))

"""What an answer for all time covers, and how it is worded."""

from pathlib import Path

import pytest

from acp_server.permissions.policy import Ask
from acp_server.permissions.questions import PLAN_CHOICES, PermissionChoice, choices_for
from acp_server.permissions.rules import PermissionRule, RuleBook
from acp_server.permissions.scopes import (
    CommandPattern,
    CommandScope,
    ConfinedCommandsScope,
    DirectoryScope,
    HostScope,
    McpToolScope,
    NetworkScope,
    ProjectChecksScope,
    Scope,
    SiteScope,
    describe_scope,
)
from acp_server.permissions.shielded_files import Shield
from tests.permissions.shell.covering import parts_of
from tests.support.case_table import each_case

ROOT = Path("/code/space")


def _commands(
    *commands: tuple[str, ...], directory: Path = ROOT, is_exact: bool = False
) -> CommandScope:
    patterns = (CommandPattern(words, directory, is_exact=is_exact) for words in commands)
    return CommandScope(tuple(patterns))


def edits(folder: str, *, is_allowed: bool = True) -> PermissionRule:
    return PermissionRule(DirectoryScope("write", ROOT / folder), is_allowed)


def files(*names: str) -> tuple[Path, ...]:
    return tuple(ROOT / name for name in names)


@pytest.mark.parametrize(
    ("rules", "named", "verdict"),
    [
        pytest.param([], ("a",), None, id="no rules"),
        pytest.param([edits("src")], ("src/a",), True, id="a file below"),
        pytest.param([edits("src")], ("src/deep/a",), True, id="a file far below"),
        pytest.param([edits("src")], ("a",), None, id="a file beside"),
        pytest.param([edits("src")], ("srcs/a",), None, id="a folder with a longer name"),
        pytest.param([edits("src")], ("src/a", "b"), None, id="one of two"),
        pytest.param([edits("a"), edits("b")], ("a/x", "b/x"), True, id="one rule for each"),
        pytest.param([edits("src", is_allowed=False)], ("src/a", "b"), False, id="a no for one"),
        pytest.param(
            [edits("."), edits("src", is_allowed=False)], ("src/a",), False, id="no beats yes"
        ),
        pytest.param(
            [edits("src"), edits(".", is_allowed=False)], ("src/a",), False, id="the wider no, too"
        ),
        pytest.param([edits(".")], (), None, id="no files"),
        pytest.param(
            [PermissionRule(DirectoryScope("read", ROOT), is_allowed=True)],
            ("a",),
            None,
            id="another act",
        ),
        pytest.param(
            [PermissionRule(_commands(("pytest",)), is_allowed=True)],
            ("a",),
            None,
            id="a command",
        ),
    ],
)
def test_rules_on_files(
    rules: list[PermissionRule], named: tuple[str, ...], *, verdict: bool | None
) -> None:
    assert RuleBook(rules).verdict_on_files("write", files(*named)) is verdict


@each_case(
    ("command", "verdict"),
    [
        ("pytest", True),
        ("pytest -q tests", True),
        ("pytester", None),
        ("pytest; ls", True),
        ("pytest && npm run test", None),
        ("ls", None),
        ("pytest; npm run build", False),
        ("cd web && npm run build", False),
        ("npm run build --prefix x > log", False),
        ("PATH=. pytest", None),
        ("sh -c pytest", None),
        ("npm run build", False),
        ("npm run test", None),
    ],
)
def test_rules_on_commands(command: str, *, verdict: bool | None) -> None:
    book = RuleBook(
        [
            PermissionRule(_commands(("pytest",)), is_allowed=True),
            PermissionRule(_commands(("npm", "run", "build")), is_allowed=False),
        ]
    )
    assert book.verdict_on_command(parts_of(command)) is verdict


@pytest.mark.parametrize(
    ("scope", "verdict"),
    [
        pytest.param(McpToolScope("github", "0123", "search"), True, id="the same"),
        pytest.param(McpToolScope("github", "4567", "search"), None, id="another program"),
        pytest.param(McpToolScope("github", "0123", "delete"), None, id="another tool"),
        pytest.param(McpToolScope("gitlab", "0123", "search"), None, id="another server"),
    ],
)
def test_a_rule_covers_one_tool_of_one_server(scope: McpToolScope, *, verdict: bool | None) -> None:
    book = RuleBook([PermissionRule(McpToolScope("github", "0123", "search"), is_allowed=True)])
    assert book.verdict_on(scope) is verdict


@pytest.mark.parametrize(
    ("site", "verdict"),
    [
        ("example.com", True),
        ("example.com:8080", None),
        ("www.example.com", None),
        ("example.com.evil.example", None),
        ("evilexample.com", None),
    ],
)
def test_a_rule_covers_one_site(site: str, *, verdict: bool | None) -> None:
    book = RuleBook([PermissionRule(SiteScope("example.com"), is_allowed=True)])
    assert book.verdict_on(SiteScope(site)) is verdict


@each_case(
    ("scope", "text"),
    [
        (DirectoryScope("write", ROOT), "edits in this workspace"),
        (DirectoryScope("write", ROOT / "src"), "edits in src/"),
        (DirectoryScope("read", Path("/elsewhere")), "reading in /elsewhere/"),
        (DirectoryScope("write", ROOT / "a\nb\u202ec"), "edits in a\ufffdb\ufffdc/"),
        (_commands(("npm", "run", "test")), "`npm run test …`"),
        (_commands(("go", "build"), ("go", "test")), "`go build …` and `go test …`"),
        (_commands(("pytest", "a; b"), is_exact=True), "exactly `pytest 'a; b'`"),
        (_commands(("npm", "test"), directory=ROOT / "web"), "`npm test …` in web/"),
        (_commands(("npm", "test"), directory=Path("/x")), "`npm test …` in /x/"),
        (_commands(("a\nb\u202ec",), is_exact=True), "exactly `'a\ufffdb\ufffdc'`"),
        (ProjectChecksScope(), "this project's tests, builds and servers in the sandbox"),
        (McpToolScope("a`\n", "0123", "b"), "`b` of the server `a`\ufffd`"),
        (SiteScope("example.com:8080"), "pages of `example.com:8080`"),
        (HostScope("example.com"), "connections of commands to `example.com`"),
        (HostScope("a.b", "10.0.0.1"), "connections of commands to `a.b` at 10.0.0.1"),
    ],
)
def test_a_scope_is_described_in_one_line(scope: Scope, text: str) -> None:
    assert describe_scope(scope, ROOT) == text


def test_without_a_scope_only_one_time_answers_are_offered() -> None:
    assert choices_for(Ask(), ROOT) == (
        PermissionChoice("allow_once", "Allow once", "allow_once"),
        PermissionChoice("reject_once", "Reject", "reject_once"),
    )


def test_with_a_scope_each_answer_says_what_it_covers() -> None:
    edits = DirectoryScope("write", ROOT / "src")
    assert choices_for(Ask("", edits), ROOT) == (
        PermissionChoice("allow_once", "Allow once", "allow_once"),
        PermissionChoice(
            "allow_session", "Allow edits in src/ for this session", "allow_always", edits
        ),
        PermissionChoice(
            "allow_workspace", "Always allow edits in src/ in this workspace", "allow_always", edits
        ),
        PermissionChoice("reject_once", "Reject", "reject_once"),
        PermissionChoice(
            "reject_workspace",
            "Always reject edits in src/ in this workspace",
            "reject_always",
            edits,
        ),
    )


def test_an_answer_for_all_confined_commands_is_offered_if_files_can_be_kept_from_them() -> None:
    confined = PermissionChoice(
        "allow_confined",
        "Allow everything that the sandbox confines (but no removing or sending) for this session",
        "allow_always",
        ConfinedCommandsScope(),
    )
    assert choices_for(Ask(shield=Shield()), ROOT)[1:-1] == (confined,)
    found = choices_for(Ask("", _commands(("go", "test")), shield=Shield()), ROOT)
    assert found.index(confined) == len(found) - len(("reject_once", "reject_workspace", "it"))


def test_every_answer_that_lasts_says_for_how_long() -> None:
    wide, checks = _commands(("go", "test")), ProjectChecksScope()
    offered = (
        *choices_for(Ask("", wide, wide, checks, shield=Shield()), ROOT),
        *choices_for(Ask("", NetworkScope()), ROOT),
        *PLAN_CHOICES,
    )
    lasting = [each.name for each in offered if each.kind.endswith("_always")]
    assert len(lasting) == 11
    assert [name for name in lasting if not name.endswith(("session", "workspace"))] == []


def test_the_widths_of_an_always_are_offered_side_by_side() -> None:
    wide, exact = _commands(("go", "test")), _commands(("go", "test", "./x"), is_exact=True)
    checks = ProjectChecksScope()
    found = choices_for(Ask("", wide, exact, checks), ROOT)
    assert [(each.id, each.name, each.scope) for each in found] == [
        ("allow_once", "Allow once", None),
        ("allow_session", "Allow `go test …` for this session", wide),
        ("allow_exactly", "Always allow exactly `go test ./x` in this workspace", exact),
        ("allow_workspace", "Always allow `go test …` in this workspace", wide),
        (
            "allow_checks",
            (
                "Always allow this project's tests, builds and servers in the sandbox"
                " in this workspace"
            ),
            checks,
        ),
        ("reject_once", "Reject", None),
        ("reject_workspace", "Always reject `go test …` in this workspace", wide),
    ]

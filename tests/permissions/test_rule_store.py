"""The file of rules: nothing is lost, nothing that is not understood allows anything."""

import json
import logging
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.permissions.rule_store import RuleStore
from acp_server.permissions.rules import PermissionRule
from acp_server.permissions.scopes import (
    CommandPattern,
    CommandScope,
    DirectoryScope,
    HostScope,
    McpToolScope,
    NetworkScope,
    PortScope,
    ProjectChecksScope,
    RemoteReadScope,
    SiteScope,
    SkillVariablesScope,
)
from skills_store.locks import LockedError, locked

ROOT = Path("/code/space")
EDITS = PermissionRule(DirectoryScope("write", ROOT / "src"), is_allowed=True)
SITE = PermissionRule(SiteScope("example.com:8080"), is_allowed=True)
SEARCH = PermissionRule(McpToolScope("github", "0123", "search"), is_allowed=True)
TESTS = PermissionRule(
    CommandScope((CommandPattern(("npm", "run", "test"), ROOT / "web"),)), is_allowed=False
)
EXACT = PermissionRule(
    CommandScope((CommandPattern(("bd", "list", ""), ROOT, is_exact=True),)), is_allowed=True
)
CHECKS = PermissionRule(ProjectChecksScope(), is_allowed=True)
REMOTE = PermissionRule(RemoteReadScope("github.com"), is_allowed=False)
NETWORK = (
    PermissionRule(HostScope("example.com"), is_allowed=True),
    PermissionRule(HostScope("example.com", "10.0.0.1"), is_allowed=False),
    PermissionRule(NetworkScope(), is_allowed=False),
    PermissionRule(PortScope(8000), is_allowed=True),
    PermissionRule(SkillVariablesScope("weather", "0f", ("KEY", "TOKEN")), is_allowed=True),
)

WRITER = """
import sys
from pathlib import Path
from acp_server.permissions.rule_store import RuleStore
from acp_server.permissions.rules import PermissionRule
from acp_server.permissions.scopes import DirectoryScope
store = RuleStore(Path(sys.argv[1]))
for number in range(20):
    scope = DirectoryScope("write", Path(f"/code/{sys.argv[2]}/{number}"))
    store.add(Path("/code/space"), PermissionRule(scope, is_allowed=True))
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "acp/permissions.json"


def test_stored_rules_are_loaded_by_the_next_process(file: Path) -> None:
    for rule in (EDITS, TESTS, EDITS, SEARCH, SITE, EXACT, CHECKS, REMOTE, *NETWORK):
        RuleStore(file).add(ROOT, rule)
    assert RuleStore(file).load(ROOT) == (
        EDITS,
        TESTS,
        SEARCH,
        SITE,
        EXACT,
        CHECKS,
        REMOTE,
        *NETWORK,
    )


def test_the_commands_of_one_answer_are_stored_one_by_one(file: Path) -> None:
    patterns = tuple(CommandPattern(("go", each), ROOT) for each in ("build", "test"))
    hosts = ("example.com",)
    RuleStore(file).add(ROOT, PermissionRule(CommandScope(patterns, hosts), is_allowed=True))
    assert RuleStore(file).load(ROOT) == (
        *(PermissionRule(CommandScope((each,)), is_allowed=True) for each in patterns),
        PermissionRule(RemoteReadScope("example.com"), is_allowed=True),
    )


def test_an_older_rule_on_commands_holds_in_the_directory_of_the_workspace(file: Path) -> None:
    RuleStore(file).add(ROOT, EDITS)
    older = {"act": "run", "prefix": ["go", "test", "./x"], "allow": True}
    file.write_text(json.dumps({str(ROOT): [older]}))
    pattern = CommandPattern(("go", "test", "./x"), ROOT)
    assert RuleStore(file).load(ROOT) == (
        PermissionRule(CommandScope((pattern,)), is_allowed=True),
    )


def test_a_rule_applies_only_in_its_workspace(file: Path) -> None:
    RuleStore(file).add(ROOT, EDITS)
    assert [*RuleStore(file).load(ROOT / "src"), *RuleStore(file).load(ROOT.parent)] == []


def test_without_a_file_there_are_no_rules(file: Path) -> None:
    assert RuleStore(file).load(ROOT) == ()


def test_only_the_owner_can_read_the_file(file: Path) -> None:
    RuleStore(file).add(ROOT, EDITS)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_a_file_readable_by_others_is_made_private(file: Path) -> None:
    RuleStore(file).add(ROOT, EDITS)
    file.chmod(0o666)
    RuleStore(file).add(ROOT, TESTS)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_rules_added_by_another_process_are_seen(file: Path) -> None:
    mine, other = RuleStore(file), RuleStore(file)
    mine.add(ROOT, EDITS)
    assert mine.load(ROOT) == (EDITS,)
    other.add(ROOT, TESTS)
    assert mine.load(ROOT) == (EDITS, TESTS)


def test_an_unchanged_file_is_not_read_again(file: Path) -> None:
    store = RuleStore(file)
    store.add(ROOT, EDITS)
    first = store.load(ROOT)
    assert store.load(ROOT) is first


def test_a_file_changed_without_changing_its_size_is_read_again(file: Path) -> None:
    store = RuleStore(file)
    store.add(ROOT, EDITS)
    assert store.load(ROOT) == (EDITS,)
    file.write_text(file.read_text().replace("/src", "/new"))
    assert store.load(ROOT) == (
        PermissionRule(DirectoryScope("write", ROOT / "new"), is_allowed=True),
    )


def test_a_deleted_file_allows_nothing(file: Path) -> None:
    store = RuleStore(file)
    store.add(ROOT, EDITS)
    store.load(ROOT)
    file.unlink()
    assert store.load(ROOT) == ()


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", "7", "\x00", '{"/code/space": 7}', '{"/code/space": {"act": "write"}}',
     "[" * 100_000],
)  # fmt: skip
def test_a_broken_file_allows_nothing(file: Path, text: str) -> None:
    file.parent.mkdir()
    file.write_text(text)
    assert RuleStore(file).load(ROOT) == ()


def test_a_broken_file_is_moved_aside_when_a_rule_is_added(file: Path) -> None:
    file.parent.mkdir()
    file.write_text("{ by hand")
    RuleStore(file).add(ROOT, EDITS)
    assert RuleStore(file).load(ROOT) == (EDITS,)
    assert (file.parent / "permissions.json.broken").read_text() == "{ by hand"


def test_unknown_entries_allow_nothing_and_are_preserved(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    unknown: list[JsonValue] = [
        {"act": "fetch", "host": "example.org", "allow": True},
        {"act": "write", "folder": 7, "allow": True},
        {"act": "run", "prefix": [], "allow": True},
        "what?",
    ]
    known = {"act": "write", "folder": "/code/space/src", "allow": True, "since": 2030}
    file.parent.mkdir()
    file.write_text(json.dumps({"/code/space": [*unknown, known], "version": 2}))
    caplog.set_level(logging.ERROR)
    store = RuleStore(file)
    assert store.load(ROOT) == (EDITS,)
    store.add(ROOT, TESTS)
    assert store.load(ROOT) == (EDITS, TESTS)
    saved = json.loads(file.read_text())
    assert (saved["version"], saved["/code/space"][:5]) == (2, [*unknown, known])


@pytest.mark.skipif(sys.platform == "darwin", reason="names are text there")
def test_a_workspace_with_an_undecodable_path_can_have_rules(file: Path) -> None:
    odd = Path(os.fsdecode(b"/code/\xff"))
    RuleStore(file).add(odd, TESTS)
    assert RuleStore(file).load(odd) == (TESTS,)


def test_an_unreadable_file_allows_nothing_and_is_not_overwritten(file: Path) -> None:
    file.mkdir(parents=True)
    store = RuleStore(file)
    assert store.load(ROOT) == ()
    with pytest.raises(OSError, match="directory"):
        store.add(ROOT, EDITS)


def test_two_processes_writing_at_once_lose_no_rule(file: Path) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, file, name]) for name in "ab"]
    assert [writer.wait(20) for writer in writers] == [0, 0]
    assert len(RuleStore(file).load(ROOT)) == 40


def test_waiting_for_a_held_lock_times_out(tmp_path: Path) -> None:
    file = tmp_path / "x"
    with locked(file), pytest.raises(LockedError), locked(file, timeout_seconds=0.02):
        pass


def test_the_lock_is_released(tmp_path: Path) -> None:
    file = tmp_path / "x"
    for _ in range(2):
        with locked(file, timeout_seconds=0):
            assert (tmp_path / "x.lock").exists()

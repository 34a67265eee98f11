"""What nobody is to be bothered with, and what the `.env` at the root changes about that."""

from collections.abc import Sequence

import pytest
from pydantic import JsonValue

from acp_server.permissions.effects import FileTarget, RunCommandEffect
from acp_server.permissions.facts import FactCollector
from acp_server.permissions.modes import Mode
from acp_server.permissions.policy import Allow, Ask, Refuse, decide
from acp_server.permissions.rules import RuleBook
from tests.permissions.ordinary_calls import CALLS, COMMANDS, COMMANDS_THAT_ASK, EVERYDAY_FILES
from tests.permissions.secret_workspace import RecordingUser, SecretWorkspace, open_tool_caller
from tests.support.case_table import each_case

DISASTERS = (
    "rm -rf /",
    "rm -rf /*",
    "rm -rf ~",
    "rm -fr -- /",
    "rm --recursive --force /",
    "sudo rm -rf /",
    "cd / && rm -rf *",
    "bash -c 'rm -rf /'",
    "ls; rm -rf /",
    "ls && (rm -rf /)",
    "r'm' -rf /",
    "mkfs.ext4 /dev/sda1",
    "dd if=/dev/zero of=/dev/sda",
    "shutdown -h now",
    "reboot",
    ":(){ :|:& };:",
    "chmod -R 777 /",
)
MODES: tuple[Mode, ...] = ("ask", "accept_edits", "plan", "bypass")


@pytest.fixture(scope="module")
def everyday(tmp_path_factory: pytest.TempPathFactory) -> SecretWorkspace:
    workspace = SecretWorkspace(tmp_path_factory.mktemp("everyday"))
    for name, text in EVERYDAY_FILES.items():
        workspace.write_file(name, text)
    (workspace.root / "shortcut").symlink_to(workspace.root / "src")
    workspace.outside.mkdir()
    workspace.home.mkdir()
    return workspace


def decision_on(space: SecretWorkspace, command: str, mode: Mode = "ask") -> Allow | Ask | Refuse:
    collector = FactCollector((space.root,), space.home, space.home / "own")
    cwd = FileTarget(space.root, space.root.resolve(), is_inside=True)
    return decide(collector.collect(RunCommandEffect(command, cwd)), mode, RuleBook())


@each_case("command", COMMANDS)
def test_an_ordinary_command_requires_no_permission(
    everyday: SecretWorkspace, command: str
) -> None:
    assert decision_on(everyday, command) == Allow()


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
async def test_an_ordinary_call_requires_no_permission(
    everyday: SecretWorkspace, call: tuple[str, dict[str, JsonValue]]
) -> None:
    async with open_tool_caller(everyday, "ask") as caller:
        await caller.call(*call)
    assert caller.user == RecordingUser()


@each_case("command", COMMANDS_THAT_ASK)
def test_a_command_that_may_read_the_root_settings_requires_permission(
    everyday: SecretWorkspace, command: str
) -> None:
    decision = decision_on(everyday, command)
    assert isinstance(decision, Ask)
    assert decision.reason


@each_case("mode", MODES)
@each_case("command", DISASTERS)
def test_a_destructive_command_is_refused_in_every_mode(
    everyday: SecretWorkspace, mode: Mode, command: str
) -> None:
    assert isinstance(decision_on(everyday, command, mode), Refuse)  # never run, only decided


def test_the_tables_have_the_required_length() -> None:
    tables: Sequence[int] = (len(COMMANDS), len(CALLS))
    assert sum(tables) >= 150

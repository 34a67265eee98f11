"""What nobody is to be bothered with, and what the `.env` at the root changes about that."""

from collections.abc import Sequence

import pytest
from pydantic import JsonValue

from acp_server.permissions.effects import RunCommand, Target
from acp_server.permissions.facts import Surveyor
from acp_server.permissions.modes import Mode
from acp_server.permissions.policy import Allow, Ask, Refuse, decide
from acp_server.permissions.rules import RuleBook
from tests.permissions.ordinary_calls import ASKED, CALLS, COMMANDS, EVERYDAY_FILES
from tests.permissions.secret_workspace import Recorder, Stage, acting

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
def everyday(tmp_path_factory: pytest.TempPathFactory) -> Stage:
    stage = Stage(tmp_path_factory.mktemp("everyday"))
    for name, text in EVERYDAY_FILES.items():
        stage.put(name, text)
    (stage.root / "shortcut").symlink_to(stage.root / "src")
    stage.outside.mkdir()
    stage.home.mkdir()
    return stage


def decision_on(stage: Stage, command: str, mode: Mode = "ask") -> Allow | Ask | Refuse:
    surveyor = Surveyor((stage.root,), stage.home, stage.home / "own")
    cwd = Target(stage.root, stage.root.resolve(), is_inside=True)
    return decide(surveyor.facts(RunCommand(command, cwd)), mode, RuleBook())


@pytest.mark.parametrize("command", COMMANDS)
def test_an_ordinary_command_is_not_asked_about(everyday: Stage, command: str) -> None:
    assert decision_on(everyday, command) == Allow()


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
async def test_an_ordinary_call_is_not_asked_about(
    everyday: Stage, call: tuple[str, dict[str, JsonValue]]
) -> None:
    async with acting(everyday, "ask") as actor:
        await actor.call(*call)
    assert actor.user == Recorder()


@pytest.mark.parametrize("command", ASKED)
def test_what_may_read_the_settings_at_the_root_is_asked(everyday: Stage, command: str) -> None:
    decision = decision_on(everyday, command)
    assert isinstance(decision, Ask)
    assert decision.reason


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("command", DISASTERS)
def test_a_disaster_is_refused_in_every_mode(everyday: Stage, mode: Mode, command: str) -> None:
    assert isinstance(decision_on(everyday, command, mode), Refuse)  # never run, only decided


def test_the_tables_are_as_long_as_was_promised() -> None:
    tables: Sequence[int] = (len(COMMANDS), len(CALLS))
    assert sum(tables) >= 150

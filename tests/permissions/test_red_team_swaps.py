"""A file or a folder that keeps becoming a link and itself again while calls are made of it.

The swapping goes on in a thread, for as many rounds as there are calls. Which of them succeed is
chance; that none reads or writes behind the link without a question is not.
"""

from base64 import b64decode
from dataclasses import replace
from pathlib import Path

import pytest

from acp_server.permissions.modes import Mode
from acp_server.tools.shell.confinement.config import SandboxConfig
from acp_server.turn.ports import ToolOutcome
from tests.permissions.file_attempts import Attempt
from tests.permissions.secret_workspace import (
    MARKER,
    RecordingUser,
    SecretWorkspace,
    create_secret_workspace,
    make_tool_config,
    open_tool_caller,
    open_tool_caller_with,
)
from tests.permissions.swapping import swapping_file, swapping_folder
from tests.permissions.test_red_team_delegation import Puppet

ROUNDS = 8
"""How often each call is made."""
DELETION = "*** Begin Patch\n*** Delete File: swap.txt\n*** End Patch"
CALLS: dict[str, Attempt] = {
    "read": ("read_file", {"path": "swap.txt"}),
    "write": ("write_file", {"path": "swap.txt", "content": "written\n"}),
    "patch": ("patch", {"path": "swap.txt", "old_string": "less", "new_string": "ful"}),
    "delete": ("patch", {"mode": "patch", "patch": DELETION}),
}
BEHIND = (MARKER, "secret.txt", "plan2.txt")
PNG_START = b"\x89PNG\r\n\x1a\n"
MOVE = "*** Begin Patch\n*** Update File: {}\n*** Move to: {}\n@@\n-less\n+ful\n*** End Patch"
FOLDER_CALLS: dict[str, Attempt] = {
    "read": ("read_file", {"path": "door/plans.txt"}),
    "look at": ("read_file", {"path": "door/picture.png"}),
    "list": ("read_file", {"path": "door/rooms"}),
    "miss": ("read_file", {"path": "door/plan.txt"}),
    "write": ("write_file", {"path": "door/plans.txt", "content": "written\n"}),
    "create": ("write_file", {"path": "door/new.txt", "content": "written\n"}),
    "create below": ("write_file", {"path": "door/a/b/new.txt", "content": "written\n"}),
    "patch": ("patch", {"path": "door/plans.txt", "old_string": "less", "new_string": "ful"}),
    "delete": ("patch", {"mode": "patch", "patch": DELETION.replace("swap", "door/plans")}),
    "delete a link": ("patch", {"mode": "patch", "patch": DELETION.replace("swap", "door/link")}),
    "move in": ("patch", {"mode": "patch", "patch": MOVE.format("mine.txt", "door/in.txt")}),
    "move out": ("patch", {"mode": "patch", "patch": MOVE.format("door/plans.txt", "out.txt")}),
    "search": ("search_files", {"pattern": "hush|harm", "path": "door"}),
    "search above": ("search_files", {"pattern": "hush|harm", "path": "hall"}),
    "list files": ("search_files", {"pattern": "*.txt", "path": "door", "target": "files"}),
}


@pytest.fixture
def stage(tmp_path: Path) -> SecretWorkspace:
    return create_secret_workspace(tmp_path)


@pytest.mark.parametrize("mode", ["ask", "accept_edits", "plan"])
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
async def test_a_link_that_is_swapped_repeatedly_gives_no_access(
    stage: SecretWorkspace, call: Attempt, mode: Mode
) -> None:
    far = stage.outside / "plans.txt"
    async with open_tool_caller(stage, mode) as actor:
        with swapping_file(stage.root / "swap.txt", far):
            for _ in range(ROUNDS):
                outcome = await actor.call(*call)
                assert MARKER not in outcome.text
    assert not any(MARKER in repr(event) for event in actor.screen.events)
    assert far.read_text() == f"{MARKER}\n"


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
async def test_approving_a_file_does_not_approve_the_target_of_a_swapped_link(
    stage: SecretWorkspace, call: Attempt
) -> None:
    """All questions are answered with yes: of those about the link, none is asked of the user."""
    far = stage.outside / "plans.txt"
    user = RecordingUser("allow_once")
    async with open_tool_caller(stage, "ask", user) as actor:
        with swapping_file(stage.root / "swap.txt", far):
            for _ in range(ROUNDS):
                user.questions.clear()
                outcome = await actor.call(*call)
                was_asked = any(str(far) in repr(each.effect) for each in user.questions)
                assert was_asked or MARKER not in outcome.text
                assert was_asked or far.read_text() == f"{MARKER}\n"
                far.write_text(f"{MARKER}\n")


async def test_a_sub_agent_cannot_reach_the_target_of_a_swapped_link(
    stage: SecretWorkspace,
) -> None:
    far, puppet = stage.outside / "plans.txt", Puppet()
    stage.model, puppet.workspace = puppet, stage
    async with open_tool_caller(stage, "accept_edits") as actor:
        with swapping_file(stage.root / "swap.txt", far):
            puppet.attempts = list(CALLS.values()) * (ROUNDS // 2)
            await actor.call("delegate_task", {"goal": "try"})
    assert len(puppet.results) == len(puppet.attempts)
    assert not any(MARKER in result.text for result in puppet.results)
    assert far.read_text() == f"{MARKER}\n"


def furnish(stage: SecretWorkspace) -> None:
    """Put the same names into the folder that is swapped and into the one outside."""
    for name in ("mine.txt", "door/plans.txt", "hall/door/plans.txt"):
        stage.write_file(name, "harmless\n")
    stage.write_file("door/rooms/small.txt", "harmless\n")
    far = den(stage)
    for name in ("plans.txt", "rooms/secret.txt", "plan2.txt"):
        stage.write_file(far / name, f"{MARKER}\n")
    for folder, text in ((stage.root / "door", b"harmless"), (far, MARKER.encode())):
        (folder / "picture.png").write_bytes(PNG_START + text)
        (folder / "link.txt").symlink_to(folder / "plans.txt")


def den(stage: SecretWorkspace) -> Path:
    return stage.outside / "den"


def told(outcome: ToolOutcome) -> str:
    """Return all that the model is told, pictures included."""
    looks = [b64decode(each.data).decode(errors="replace") for each in outcome.media]
    return "\n".join([outcome.text, *looks])


def read_directory_files(folder: Path) -> dict[str, str | bytes]:
    """Return the files of a folder, with what they hold; links with where they lead."""
    found = sorted(each for each in folder.rglob("*") if each.is_symlink() or not each.is_dir())
    return {str(p): str(p.readlink()) if p.is_symlink() else p.read_bytes() for p in found}


@pytest.mark.parametrize("mode", ["ask", "accept_edits"])
@pytest.mark.parametrize("call", FOLDER_CALLS.values(), ids=FOLDER_CALLS.keys())
async def test_a_directory_swapped_for_a_link_gives_no_access(
    stage: SecretWorkspace, call: Attempt, mode: Mode
) -> None:
    furnish(stage)
    far = read_directory_files(den(stage))
    premises = replace(make_tool_config(stage), sandbox=SandboxConfig("workspace"))
    folder = stage.root / ("hall/door" if "hall" in repr(call) else "door")
    async with open_tool_caller_with(stage, mode, premises) as actor:
        with swapping_folder(folder, den(stage)):
            for _ in range(ROUNDS):
                stage.write_file("mine.txt", "harmless\n")
                outcome = await actor.call(*call)
                assert not [each for each in BEHIND if each in told(outcome)]
    assert not any(MARKER in repr(event) for event in actor.screen.events)
    assert read_directory_files(den(stage)) == far


@pytest.mark.parametrize("call", FOLDER_CALLS.values(), ids=FOLDER_CALLS.keys())
async def test_approving_a_directory_does_not_approve_the_target_of_a_later_link(
    stage: SecretWorkspace, call: Attempt
) -> None:
    furnish(stage)
    far = read_directory_files(den(stage))
    user = RecordingUser("allow_once")
    premises = replace(make_tool_config(stage), sandbox=SandboxConfig("workspace"))
    folder = stage.root / ("hall/door" if "hall" in repr(call) else "door")
    async with open_tool_caller_with(stage, "ask", premises, user) as actor:
        with swapping_folder(folder, den(stage)):
            for _ in range(ROUNDS):
                stage.write_file("mine.txt", "harmless\n")
                user.questions.clear()
                outcome = await actor.call(*call)
                if not any(str(stage.outside) in repr(each.effect) for each in user.questions):
                    assert not [each for each in BEHIND if each in told(outcome)]
                    assert read_directory_files(den(stage)) == far
                far = read_directory_files(den(stage))

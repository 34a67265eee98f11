"""A file or a folder that keeps becoming a link and itself again while calls are made of it.

The swapping goes on in a thread, for as many rounds as there are calls. Which of them succeed is
chance; that none reads or writes behind the link without a question is not.
"""

import shutil
from base64 import b64decode
from collections.abc import Mapping, Sequence
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
from tests.permissions.test_red_team_delegation import AttemptModel
from tests.support.case_table import named_case

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


def params_by_mode(calls: Mapping[str, Attempt], modes: Sequence[Mode]) -> list[object]:
    """Return calls by mode: those of a mode share a session.

    Calls that only read are decided alike in all modes, and edits may pass in one: in that they
    are made in the short form too.
    """
    short: dict[Mode, dict[str, Attempt]] = {mode: {} for mode in modes}
    full: dict[Mode, dict[str, Attempt]] = {mode: {} for mode in modes}
    for name, each in calls.items():
        usual: Mode = "accept_edits" if each[0] in {"write_file", "patch"} else "ask"
        for mode in modes:
            (short if mode == usual else full)[mode][name] = each
    return [
        pytest.param(group, mode, id=mode, marks=marks)
        for groups, marks in ((short, ()), (full, pytest.mark.full))
        for mode, group in groups.items()
        if group
    ]


@pytest.fixture
def stage(tmp_path: Path) -> SecretWorkspace:
    return create_secret_workspace(tmp_path)


@pytest.fixture(params=[2, pytest.param(16, marks=pytest.mark.full)], ids="{} rounds".format)
def rounds(request: pytest.FixtureRequest) -> int:
    """How often each call is made."""
    return int(request.param)


@pytest.mark.parametrize(("calls", "mode"), params_by_mode(CALLS, ("ask", "accept_edits", "plan")))
async def test_a_link_that_is_swapped_repeatedly_gives_no_access(
    stage: SecretWorkspace, rounds: int, calls: Mapping[str, Attempt], mode: Mode
) -> None:
    target = stage.outside / "plans.txt"
    async with open_tool_caller(stage, mode) as caller:
        for name, call in calls.items():
            with named_case(name), swapping_file(stage.root / "swap.txt", target):
                for _ in range(rounds):
                    outcome = await caller.call(*call)
                    assert MARKER not in outcome.text
            assert target.read_text() == f"{MARKER}\n", name
    assert not any(MARKER in repr(event) for event in caller.log.events)


async def test_approving_a_file_does_not_approve_the_target_of_a_swapped_link(
    stage: SecretWorkspace, rounds: int
) -> None:
    """All questions are answered with yes: of those about the link, none is asked of the user."""
    target = stage.outside / "plans.txt"
    user = RecordingUser("allow_once")
    async with open_tool_caller(stage, "ask", user) as caller:
        for name, call in CALLS.items():
            with named_case(name), swapping_file(stage.root / "swap.txt", target):
                for _ in range(rounds):
                    user.questions.clear()
                    outcome = await caller.call(*call)
                    was_asked = any(str(target) in repr(each.effect) for each in user.questions)
                    assert was_asked or MARKER not in outcome.text
                    assert was_asked or target.read_text() == f"{MARKER}\n"
                    target.write_text(f"{MARKER}\n")


async def test_a_sub_agent_cannot_reach_the_target_of_a_swapped_link(
    stage: SecretWorkspace, rounds: int
) -> None:
    target, model = stage.outside / "plans.txt", AttemptModel()
    stage.model, model.workspace = model, stage
    async with open_tool_caller(stage, "accept_edits") as caller:
        with swapping_file(stage.root / "swap.txt", target):
            model.attempts = list(CALLS.values()) * (rounds // 2)
            await caller.call("delegate_task", {"goal": "try"})
    assert len(model.results) == len(model.attempts)
    assert not any(MARKER in result.text for result in model.results)
    assert target.read_text() == f"{MARKER}\n"


def fill_directories(workspace: SecretWorkspace) -> None:
    """Put the same names into the folder that is swapped and into the one outside."""
    target = outside_directory(workspace)
    (workspace.root / "door").unlink(missing_ok=True)  # elsewhere it is a link, here a folder
    for name in ("mine.txt", "door/plans.txt", "hall/door/plans.txt"):
        workspace.write_file(name, "harmless\n")
    workspace.write_file("door/rooms/small.txt", "harmless\n")
    for name in ("plans.txt", "rooms/secret.txt", "plan2.txt"):
        workspace.write_file(target / name, f"{MARKER}\n")
    for folder, text in ((workspace.root / "door", b"harmless"), (target, MARKER.encode())):
        (folder / "picture.png").write_bytes(PNG_START + text)
        (folder / "link.txt").symlink_to(folder / "plans.txt")


def empty_directories(workspace: SecretWorkspace) -> None:
    """Remove both folders and what calls have made."""
    for folder in (workspace.root / "door", workspace.root / "hall", outside_directory(workspace)):
        shutil.rmtree(folder)
    (workspace.root / "door").touch()  # for `fill_directories`
    (workspace.root / "out.txt").unlink(missing_ok=True)


def outside_directory(workspace: SecretWorkspace) -> Path:
    return workspace.outside / "den"


def visible_text(outcome: ToolOutcome) -> str:
    """Return all that the model is told, pictures included."""
    looks = [b64decode(each.data).decode(errors="replace") for each in outcome.media]
    return "\n".join([outcome.text, *looks])


def read_directory_files(folder: Path) -> dict[str, str | bytes]:
    """Return the files of a folder, with what they hold; links with where they lead."""
    found = sorted(each for each in folder.rglob("*") if each.is_symlink() or not each.is_dir())
    return {str(p): str(p.readlink()) if p.is_symlink() else p.read_bytes() for p in found}


@pytest.mark.parametrize(("calls", "mode"), params_by_mode(FOLDER_CALLS, ("ask", "accept_edits")))
async def test_a_directory_swapped_for_a_link_gives_no_access(
    stage: SecretWorkspace, rounds: int, calls: Mapping[str, Attempt], mode: Mode
) -> None:
    config = replace(make_tool_config(stage), sandbox=SandboxConfig("workspace"))
    async with open_tool_caller_with(stage, mode, config) as caller:
        for name, call in calls.items():
            fill_directories(stage)
            target = read_directory_files(outside_directory(stage))
            folder = stage.root / ("hall/door" if "hall" in repr(call) else "door")
            with named_case(name), swapping_folder(folder, outside_directory(stage)):
                for _ in range(rounds):
                    stage.write_file("mine.txt", "harmless\n")
                    outcome = await caller.call(*call)
                    assert not [each for each in BEHIND if each in visible_text(outcome)]
            assert read_directory_files(outside_directory(stage)) == target, name
            empty_directories(stage)
    assert not any(MARKER in repr(event) for event in caller.log.events)


async def test_approving_a_directory_does_not_approve_the_target_of_a_later_link(
    stage: SecretWorkspace, rounds: int
) -> None:
    user = RecordingUser("allow_once")
    config = replace(make_tool_config(stage), sandbox=SandboxConfig("workspace"))
    async with open_tool_caller_with(stage, "ask", config, user) as caller:
        for name, call in FOLDER_CALLS.items():
            fill_directories(stage)
            target = read_directory_files(outside_directory(stage))
            folder = stage.root / ("hall/door" if "hall" in repr(call) else "door")
            with named_case(name), swapping_folder(folder, outside_directory(stage)):
                for _ in range(rounds):
                    stage.write_file("mine.txt", "harmless\n")
                    user.questions.clear()
                    outcome = await caller.call(*call)
                    if not any(str(stage.outside) in repr(each.effect) for each in user.questions):
                        assert not [each for each in BEHIND if each in visible_text(outcome)]
                        assert read_directory_files(outside_directory(stage)) == target
                    target = read_directory_files(outside_directory(stage))
            empty_directories(stage)

"""What happens to the disk and to the session while a question stands open, with the real tools."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.permissions.questions import (
    PermissionChoice,
    PermissionChoiceId,
    PermissionQuestion,
)
from tests.permissions.secret_workspace import (
    MARKER,
    RecordingUser,
    SecretWorkspace,
    ToolCaller,
    create_secret_workspace,
    open_tool_caller,
)


@dataclass(slots=True)
class Swapper(RecordingUser):
    """A user who says yes, right after something has changed."""

    answer: PermissionChoiceId = "allow_once"
    change: Callable[[], object] = bool

    async def ask(
        self, question: PermissionQuestion, choices: Sequence[PermissionChoice]
    ) -> PermissionChoiceId | None:
        self.change()
        return await RecordingUser.ask(self, question, choices)


@pytest.fixture
def stage(tmp_path: Path) -> SecretWorkspace:
    workspace = create_secret_workspace(tmp_path)
    workspace.write_file("door2/plans.txt", "harmless\n")
    return workspace


def link_outside(workspace: SecretWorkspace, name: str) -> None:
    """Put a link to what lies outside in the place of a folder."""
    (workspace.root / name).rename(workspace.base / "moved")
    (workspace.root / name).symlink_to(workspace.outside)


ASKED_CALLS: dict[str, tuple[str, dict[str, JsonValue]]] = {
    "read": ("read_file", {"path": "door2/server.key"}),
    "search": ("search_files", {"pattern": "hush", "path": "door2/server.key"}),
    "write": ("write_file", {"path": "door2/plans.txt", "content": "x\n"}),
    "create": ("write_file", {"path": "door2/new.txt", "content": "x\n"}),
    "patch": ("patch", {"path": "door2/plans.txt", "old_string": "harmless", "new_string": "x"}),
    "command": ("terminal", {"command": "touch x; cat *", "workdir": "door2"}),
    "background": ("terminal", {"command": "touch x", "workdir": "door2", "background": True}),
}


@pytest.mark.parametrize("call", ASKED_CALLS.values(), ids=ASKED_CALLS.keys())
async def test_a_directory_replaced_by_a_symlink_during_a_permission_request_is_not_touched(
    stage: SecretWorkspace, call: tuple[str, dict[str, JsonValue]]
) -> None:
    stage.write_file("door2/server.key", "harmless\n")
    (stage.outside / "server.key").write_text(f"{MARKER}\n")
    lies_outside = {path: path.read_text() for path in stage.outside.glob("*.[tk]*")}
    user = Swapper(change=lambda: link_outside(stage, "door2"))
    async with open_tool_caller(stage, "ask", user) as caller:
        caller.mark_read("door2/plans.txt")
        outcome = await caller.call(*call)
    assert (len(user.questions), outcome.is_error) == (1, True)
    assert MARKER not in outcome.text
    assert {path: path.read_text() for path in stage.outside.glob("*.[tk]*")} == lies_outside


async def test_a_file_replaced_by_a_symlink_during_a_permission_request_is_not_written(
    stage: SecretWorkspace,
) -> None:
    file, target = stage.root / "src/app.py", stage.outside / "plans.txt"

    def swap() -> None:
        file.unlink()
        file.symlink_to(target)

    async with open_tool_caller(stage, "ask", Swapper(change=swap)) as caller:
        caller.mark_read("src/app.py")
        outcome = await caller.call("write_file", {"path": "src/app.py", "content": "x\n"})
    assert (outcome.is_error, target.read_text()) == (True, f"{MARKER}\n")


async def test_bytes_changed_during_a_permission_request_are_not_overwritten(
    stage: SecretWorkspace,
) -> None:
    file = stage.root / "src/app.py"
    user = Swapper(change=lambda: file.write_text("mine\n"))
    async with open_tool_caller(stage, "ask", user) as caller:
        caller.mark_read("src/app.py")
        outcome = await caller.call("write_file", {"path": "src/app.py", "content": "x\n"})
    assert (outcome.is_error, file.read_text()) == (True, "mine\n")


@pytest.mark.parametrize(
    "call",
    [
        ("write_file", {"path": "src/new.py", "content": "x\n"}),
        ("terminal", {"command": "touch x"}),
        ("patch", {"path": "src/app.py", "old_string": "hello", "new_string": "x"}),
    ],
    ids=["write", "command", "patch"],
)
async def test_plan_mode_enabled_during_a_permission_request_blocks_the_call(
    stage: SecretWorkspace, call: tuple[str, dict[str, JsonValue]]
) -> None:
    before = stage.snapshot()
    user = Swapper("allow_session")
    async with open_tool_caller(stage, "ask", user) as caller:
        user.change = lambda: caller.session.context.options.set_mode("plan")
        outcome = await caller.call(*call)
    assert (outcome.is_error, stage.snapshot()) == (True, before)


async def test_one_approval_applies_to_one_call(stage: SecretWorkspace) -> None:
    user = Swapper()
    async with open_tool_caller(stage, "ask", user) as caller:
        first = await caller.call("write_file", {"path": "a.py", "content": "x\n"}, "same")
        user.answer = "reject_once"
        second = await caller.call("write_file", {"path": "a.py", "content": "y\n"}, "same")
    assert (first.is_error, second.is_error) == (False, True)
    assert (stage.root / "a.py").read_text() == "x\n"


async def test_an_approval_in_one_session_does_not_apply_to_another(stage: SecretWorkspace) -> None:
    async def write(caller: ToolCaller, content: str) -> bool:
        outcome = await caller.call("write_file", {"path": "src/new.py", "content": content})
        return outcome.is_error

    async with (
        open_tool_caller(stage, "ask", RecordingUser("allow_session")) as first,
        open_tool_caller(stage, "ask", RecordingUser("reject_once")) as second,
    ):
        assert not await write(first, "x\n")
        second.mark_read("src/new.py")
        assert await write(second, "y\n")
        assert [await write(first, "z\n"), len(first.user.questions)] == [False, 1]
    assert len(second.user.questions) == 1


async def test_accept_edits_requires_permission_to_delete_a_symlink_outside(
    stage: SecretWorkspace,
) -> None:
    link = stage.outside / "inward.py"
    text = f"*** Begin Patch\n*** Delete File: {link}\n*** End Patch"
    async with open_tool_caller(stage, "accept_edits") as caller:
        outcome = await caller.call("patch", {"mode": "patch", "patch": text})
    assert (len(caller.user.questions), outcome.is_error, link.is_symlink()) == (1, True, True)

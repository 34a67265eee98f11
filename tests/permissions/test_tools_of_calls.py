"""Which tool's call a question belongs to: known from the beginning of the call to its end."""

from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from acp_server.permissions.gate import Passage, PermissionGate, Refusal
from acp_server.permissions.run_rules import ORDERED_NOT, Action, Order, Orders
from acp_server.session.session import Workspace
from acp_server.tools.edit.edit_flow import Workshop
from acp_server.tools.edit.write_file import write_file_tool
from acp_server.tools.toolbox import SessionToolbox
from acp_server.turn.conversation import ToolCall
from acp_server.turn.ports import Outcome
from tests.permissions.gates import Setting
from tests.permissions.secret_workspace import Screen
from tests.support.timeouts import PATIENCE_SECONDS
from tests.tools.files.file_services import desk_in

REFUSED = Refusal(ORDERED_NOT.format(rule="no writing"))


@dataclass(slots=True)
class WatchedGate(PermissionGate):
    """A gate that tells when a call has stepped aside."""

    has_stepped_aside: anyio.Event = field(default_factory=anyio.Event)

    def step_aside(self, call_id: str) -> None:
        PermissionGate.step_aside(self, call_id)
        self.has_stepped_aside.set()


def watched(setting: Setting, orders: Orders, passages: list[Passage]) -> WatchedGate:
    plain = setting.gate()
    return WatchedGate(
        mode=plain.mode,
        asker=plain.asker,
        cancel_turn=plain.cancel_turn,
        surveyor=plain.surveyor,
        store=plain.store,
        root=plain.root,
        orders=orders,
        witness=passages.append,
    )


def ordering(action: Action) -> Orders:
    return Orders((Order(action, tools=("write_file",), written="no writing"),))


@pytest.mark.parametrize("action", ["allow", "deny"])
async def test_an_order_for_a_tool_holds_for_its_edit_that_had_to_wait_for_its_file(
    tmp_path: Path, action: Action
) -> None:
    passages: list[Passage] = []
    setting, desk = Setting(tmp_path), desk_in(tmp_path)
    gate = watched(setting, ordering(action), passages)
    workshop = Workshop(desk.files, gate, Workspace(desk.root), tmp_path / "home")
    toolbox = SessionToolbox([write_file_tool(workshop)], gate)
    made = ToolCall("call", "write_file", '{"path": "a.txt", "content": "new"}')
    outcomes: list[Outcome] = []

    async def write() -> None:
        live = await toolbox.open(made.id, made.name, Screen())
        outcomes.append(await live.run(made))

    with anyio.fail_after(PATIENCE_SECONDS):
        async with (
            anyio.create_task_group() as tasks,
            desk.files.holding([desk.root / "a.txt"]),
        ):
            tasks.start_soon(write)
            await gate.has_stepped_aside.wait()
    assert setting.user.asked == []
    assert [passage.tool for passage in passages] == ["write_file"]
    assert [each.is_error for each in outcomes] == [action == "deny"]
    assert (desk.root / "a.txt").exists() is (action == "allow")


async def test_a_call_that_steps_aside_is_still_the_call_of_its_tool(tmp_path: Path) -> None:
    setting = Setting(tmp_path)
    gate = watched(setting, ordering("deny"), [])
    gate.join("one", "write_file")
    gate.step_aside("one")
    assert await gate.pass_through(setting.edit("one")) == REFUSED


async def test_of_two_calls_with_one_id_the_end_of_one_does_not_make_the_other_nobodys(
    tmp_path: Path,
) -> None:
    passages: list[Passage] = []
    setting = Setting(tmp_path)
    gate = watched(setting, ordering("deny"), passages)
    for _ in range(2):
        gate.join("same", "write_file")
    for _ in range(2):
        assert await gate.pass_through(setting.edit("same")) == REFUSED
        gate.leave("same")
    assert [passage.tool for passage in passages] == ["write_file", "write_file"]


async def test_what_is_asked_behind_the_end_of_a_call_is_no_tools(tmp_path: Path) -> None:
    passages: list[Passage] = []
    setting = Setting(tmp_path, mode="bypass")
    gate = watched(setting, ordering("deny"), passages)
    gate.join("call", "write_file")
    gate.leave("call")
    gate.leave("call")
    assert await gate.pass_through(setting.edit("call")) is None
    assert [passage.tool for passage in passages] == [""]

"""Which tool's call a question belongs to: known from the beginning of the call to its end."""

from dataclasses import dataclass, field
from pathlib import Path

import anyio
import pytest

from acp_server.checkpoints.config import CheckpointConfig
from acp_server.checkpoints.manager import CheckpointManager, SnapshotScope
from acp_server.permissions.gate import AuditRecord, PermissionGate, Refusal
from acp_server.permissions.run_rules import DENIED_BY_RULE, RuleAction, RunRule, RunRules
from acp_server.session.checkpoint_ids import CheckpointIds
from acp_server.session.seen_files import SeenFiles
from acp_server.session.workspace import SessionWorkspace
from acp_server.tools.edit.edit_flow import EditServices
from acp_server.tools.edit.write_file import write_file_tool
from acp_server.tools.files.seen_file_guard import SeenFileGuard
from acp_server.tools.toolbox import SessionToolbox
from acp_server.turn.conversation import ToolCall
from acp_server.turn.ports import ToolOutcome
from tests.permissions.gates import GateSetup
from tests.permissions.secret_workspace import EventLog
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.tools.files.file_services import create_service

REFUSED = Refusal(DENIED_BY_RULE.format(rule="no writing"))


@dataclass(slots=True)
class WatchedGate(PermissionGate):
    """A gate that tells when a call has stepped aside."""

    has_stepped_aside: anyio.Event = field(default_factory=anyio.Event)

    def yield_queue(self, call_id: str) -> None:
        PermissionGate.yield_queue(self, call_id)
        self.has_stepped_aside.set()


def watched(setting: GateSetup, orders: RunRules, records: list[AuditRecord]) -> WatchedGate:
    unwatched = setting.gate()
    return WatchedGate(
        mode=unwatched.mode,
        asker=unwatched.asker,
        cancel_turn=unwatched.cancel_turn,
        facts=unwatched.facts,
        store=unwatched.store,
        root=unwatched.root,
        run_rules=orders,
        audit=records.append,
    )


def ordering(action: RuleAction) -> RunRules:
    return RunRules((RunRule(action, tools=("write_file",), source_text="no writing"),))


@pytest.mark.parametrize("action", ["allow", "deny"])
async def test_a_tool_rule_applies_to_an_edit_that_waited_for_its_file(
    tmp_path: Path, action: RuleAction
) -> None:
    records: list[AuditRecord] = []
    ignored: list[str] = []
    setting, service = GateSetup(tmp_path), create_service(tmp_path)
    gate = watched(setting, ordering(action), records)
    scope = SnapshotScope(
        "session", (service.root,), tmp_path / "config", {}, CheckpointIds().create
    )
    checkpoints = CheckpointManager(scope, CheckpointConfig(is_enabled=False), ignored.append)
    workspace, home = SessionWorkspace(service.root), tmp_path / "home"
    guard = SeenFileGuard(service.files, SeenFiles(), service.root)
    workshop = EditServices(service.files, gate, workspace, home, None, checkpoints, guard)
    toolbox = SessionToolbox([write_file_tool(workshop)], gate)
    made = ToolCall("call", "write_file", '{"path": "a.txt", "content": "new"}')
    outcomes: list[ToolOutcome] = []

    async def write() -> None:
        live = await toolbox.open(made.id, made.name, EventLog())
        outcomes.append(await live.run(made))

    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with (
            anyio.create_task_group() as tasks,
            service.files.lock([service.root / "a.txt"]),
        ):
            tasks.start_soon(write)
            await gate.has_stepped_aside.wait()
    assert setting.user.asked == []
    assert [record.tool for record in records] == ["write_file"]
    assert [each.is_error for each in outcomes] == [action == "deny"]
    assert (service.root / "a.txt").exists() is (action == "allow")


async def test_a_call_that_yields_its_place_keeps_its_tool(tmp_path: Path) -> None:
    setting = GateSetup(tmp_path)
    gate = watched(setting, ordering("deny"), [])
    gate.enter_queue("one", "write_file")
    gate.yield_queue("one")
    assert await gate.authorize(setting.edit("one")) == REFUSED


async def test_ending_one_of_two_calls_with_the_same_id_keeps_the_other_attributed(
    tmp_path: Path,
) -> None:
    records: list[AuditRecord] = []
    setting = GateSetup(tmp_path)
    gate = watched(setting, ordering("deny"), records)
    for _ in range(2):
        gate.enter_queue("same", "write_file")
    for _ in range(2):
        assert await gate.authorize(setting.edit("same")) == REFUSED
        gate.leave_queue("same")
    assert [record.tool for record in records] == ["write_file", "write_file"]


async def test_a_request_after_the_end_of_its_call_has_no_tool(tmp_path: Path) -> None:
    records: list[AuditRecord] = []
    setting = GateSetup(tmp_path, mode="bypass")
    gate = watched(setting, ordering("deny"), records)
    gate.enter_queue("call", "write_file")
    gate.leave_queue("call")
    gate.leave_queue("call")
    assert await gate.authorize(setting.edit("call")) is None
    assert [record.tool for record in records] == [""]

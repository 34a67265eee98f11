"""Calls that the model did not make: a request of a server, or a mention in a prompt.

They are shown as tool calls, because ACP asks for permission about tool calls only.
"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from acp_server.permissions.gate import Gate
from acp_server.permissions.questions import PermissionQuestion
from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.errors import RefusedError
from acp_server.turn.events import CallAppeared, CallChanged
from acp_server.turn.ports import TurnSink


@asynccontextmanager
async def permitted_call(
    sink: TurnSink | CallReporter, gate: Gate, name: str, question: PermissionQuestion
) -> AsyncGenerator[None]:
    """Show a call while the body runs, which it does only once the gate allows it.

    The call is `completed` if the body ends without an exception, else `failed`. The rules of
    unattended runs know it by `name`, as they know tools.

    Raises:
        RefusedError: The gate refused it.
    """
    call_id = question.call_id
    await sink.emit(CallAppeared(call_id, name, question.kind, question.title))
    gate.enter_queue(call_id, name)
    is_done = False
    try:
        refusal = await gate.authorize(question)
        if refusal is not None:
            raise RefusedError(refusal.reason)
        yield
        is_done = True
    finally:
        # Also when cancelled: else the editor shows the call as running forever.
        gate.leave_queue(call_id)
        sink.emit_now(CallChanged(call_id, "completed" if is_done else "failed"))

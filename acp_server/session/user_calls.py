"""Tool calls that the user makes by what a prompt says, and not the model."""

import json
from collections.abc import Mapping
from uuid import uuid4

from acp_server.turn.conversation import ToolCall
from acp_server.turn.ports import Toolbox, TurnSink


async def run_user_call(
    toolbox: Toolbox, sink: TurnSink, tool: str, arguments: Mapping[str, str]
) -> str:
    """Return the text of a call of the session's own toolbox.

    So it is shown, the gate decides, hooks and the sandbox apply, and its result is bounded.
    """
    call_id = f"user_{uuid4().hex[:12]}"
    call = await toolbox.open(call_id, tool, sink)
    written = json.dumps(dict(arguments))
    await call.write(written)
    return (await call.run(ToolCall(call_id, tool, written))).text

"""Scripts for sub-agents in an in-memory server; each is chosen by the text of its task."""

from collections.abc import Callable, Mapping, Sequence
from typing import cast

import anyio
from pydantic import JsonValue

from acp_server.turn.conversation import ToolCall
from acp_server.turn.ports import TextDelta
from tests.support.editor import Object, PendingResponse, json_at
from tests.tools.editor_session import CallUpdates, ToolEditorSession
from tests.tools.typing_model import Action, StreamCallback, call, stream_call

PERMISSION = "session/request_permission"
ALLOWED: JsonValue = {"outcome": {"outcome": "selected", "optionId": "allow_once"}}


def text_events(text: str) -> list[Action]:
    """Return the model events of a text."""
    return [TextDelta(text)]


def call_events(name: str, /, **arguments: JsonValue) -> list[Action]:
    """Return the model events of a tool call."""
    return stream_call(call(name, **arguments))


def delegate_call(*goals: str, **more: JsonValue) -> ToolCall:
    """Return a `delegate_task` call with one or more tasks."""
    if len(goals) == 1:
        return call("delegate_task", goal=goals[0], **more)
    tasks: list[JsonValue] = [{"goal": goal} for goal in goals]
    return call("delegate_task", tasks=tasks, **more)


class Barrier:
    """Barrier that releases its waiters when `count` have arrived."""

    def __init__(self, count: int) -> None:
        self._waiting_for = count
        self.is_complete = anyio.Event()

    async def __call__(self) -> None:
        self._waiting_for -= 1
        if self._waiting_for == 0:
            self.is_complete.set()
        await self.is_complete.wait()


async def wait_forever() -> None:
    """Block until cancelled."""
    await anyio.sleep_forever()


def make_failing(error: Exception) -> StreamCallback:
    """Return an action that raises this error."""

    async def fail() -> None:
        raise error

    return fail


def start_call(session: ToolEditorSession, tool_call: ToolCall) -> PendingResponse:
    """Have the model make a call, without waiting for the turn."""
    session.model.rounds = [stream_call(tool_call)]
    return session.editor.start_prompt(session.session_id, "go")


def script_sub_agents(
    session: ToolEditorSession, parts: Mapping[str, Sequence[Sequence[Action]]]
) -> None:
    """Set the scripts of sub-agents, by the beginning of their task."""
    session.model.subagent_rounds = {task: [*rounds] for task, rounds in parts.items()}


def sub_agent_calls(session: ToolEditorSession, parent: str) -> dict[str, CallUpdates]:
    """Return the updates of the sub-agents' calls below a parent call, by call id."""
    updates = cast("list[Object]", session.editor.updates_of(session.session_id))
    ids = dict.fromkeys(
        str(each["toolCallId"])
        for each in updates
        if str(each.get("toolCallId", "")).startswith(f"{parent}.")
    )
    return {each: session.updates_of(each) for each in ids}


async def wait_for_permission_request(
    session: ToolEditorSession, is_it: Callable[[Object], bool] = lambda _: True
) -> Object:
    """Wait for a permission request that matches."""
    return await session.editor.wait_for_response(
        lambda each: each.get("method") == PERMISSION and "id" in each and is_it(each)
    )


def has_title(text: str) -> Callable[[Object], bool]:
    """Return a predicate for permission requests whose title contains a text."""
    return lambda each: text in str(json_at(each, "params", "toolCall", "title"))

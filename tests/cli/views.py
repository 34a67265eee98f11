"""Session updates as JSON, and their rendering by a view."""

import io
from collections.abc import Callable, Iterable
from itertools import count

from pydantic import JsonValue

from acp_server.cli.screen import TerminalScreen
from acp_server.cli.session_view import SessionView
from acp_server.protocol.tool_calls import RequestPermissionRequest
from acp_server.protocol.updates import SessionNotification

Update = dict[str, JsonValue]
OPTIONS: JsonValue = [
    {"optionId": "yes", "name": "Allow once", "kind": "allow_once"},
    {"optionId": "no", "name": "Reject", "kind": "reject_once"},
]


def tool_call(call_id: str = "c", **fields: JsonValue) -> Update:
    """Return the first update of a call."""
    content: Update = {"title": "Do it", "kind": "other", "status": "pending", **fields}
    return {"sessionUpdate": "tool_call", "toolCallId": call_id, **content}


def tool_call_update(call_id: str = "c", **fields: JsonValue) -> Update:
    """Return a later update of a call."""
    return {"sessionUpdate": "tool_call_update", "toolCallId": call_id, **fields}


def diff(old_text: str | None, new_text: str, path: str = "/w/a.py") -> JsonValue:
    """Return a diff content item."""
    return {"type": "diff", "path": path, "oldText": old_text, "newText": new_text}


def text_content(text: str) -> JsonValue:
    """Return a text content item."""
    return {"type": "content", "content": {"type": "text", "text": text}}


def terminal_output(data: str, call_id: str = "c") -> Update:
    """Return an update with terminal output."""
    return tool_call_update(call_id, _meta={"terminal_output": {"terminal_id": "t", "data": data}})


def message_chunk(text: str, message_id: str = "m") -> Update:
    """Return a chunk of an agent message."""
    content: JsonValue = {"type": "text", "text": text}
    return {"sessionUpdate": "agent_message_chunk", "content": content, "messageId": message_id}


def permission_request(call_id: str = "c", **fields: JsonValue) -> RequestPermissionRequest:
    """Return a permission request for a call."""
    tool_call: JsonValue = {"toolCallId": call_id, **fields}
    return RequestPermissionRequest.from_wire(
        {"sessionId": "one", "toolCall": tool_call, "options": OPTIONS}
    )


def make_ticking_clock() -> Callable[[], float]:
    """Return a clock that advances by one second per reading."""
    seconds = count(step=1.0)
    return lambda: next(seconds)


def show_updates(view: SessionView, updates: Iterable[Update]) -> None:
    """Show updates in a view."""
    for update in updates:
        params = {"sessionId": "one", "update": update}
        view.show(SessionNotification.from_wire(params).update)


def render_plain(*updates: Update, width: int = 80) -> str:
    """Return the output for some updates in a pipe, where nothing is redrawn."""
    file = io.StringIO()
    screen = TerminalScreen(file=file)
    screen.width = width
    view = SessionView(screen, make_ticking_clock())
    show_updates(view, updates)
    view.settle()
    return file.getvalue()

"""Requests about stored sessions, and helpers to read the responses."""

from pydantic import JsonValue

from tests.support.editor import Editor, Object, at

UNKNOWN = "sess_unknown"


async def load(editor: Editor, session: str, folder: str, method: str = "session/load") -> Object:
    """Load a stored session and return the complete response."""
    params: JsonValue = {"sessionId": session, "cwd": folder, "mcpServers": []}
    return await editor.call(method, params)


def kind_of(message: Object) -> JsonValue:
    """Return the `sessionUpdate` kind of a message, or `answer` for a response."""
    return at(message, "params", "update", "sessionUpdate") if "params" in message else "answer"


def listed(page: JsonValue) -> list[JsonValue]:
    """Return the sessions of a page."""
    sessions = at(page, "sessions")
    assert isinstance(sessions, list)
    return sessions


def prompt_of(session: str, text: str) -> JsonValue:
    """Return the params of `session/prompt`."""
    return {"sessionId": session, "prompt": [{"type": "text", "text": text}]}

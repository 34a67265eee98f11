"""Requests about stored sessions, and helpers to read the responses."""

from pydantic import JsonValue

from tests.support.editor import Editor, Object, json_at

UNKNOWN_SESSION_ID = "sess_unknown"


async def load_session(
    editor: Editor, session: str, cwd: str, method: str = "session/load"
) -> Object:
    """Load a stored session and return the complete response."""
    params: JsonValue = {"sessionId": session, "cwd": cwd, "mcpServers": []}
    return await editor.call(method, params)


def message_kind(message: Object) -> JsonValue:
    """Return the `sessionUpdate` kind of a message, or `answer` for a response."""
    return (
        json_at(message, "params", "update", "sessionUpdate") if "params" in message else "answer"
    )


def sessions_of_page(page: JsonValue) -> list[JsonValue]:
    """Return the sessions of a page."""
    sessions = json_at(page, "sessions")
    assert isinstance(sessions, list)
    return sessions


def make_prompt_params(session: str, text: str) -> JsonValue:
    """Return the params of `session/prompt`."""
    return {"sessionId": session, "prompt": [{"type": "text", "text": text}]}

"""What the tests of kept sessions ask for, and how they read what they get."""

from pydantic import JsonValue

from tests.support.editor import Editor, Object, at

UNKNOWN = "sess_unknown"


async def load(editor: Editor, session: str, folder: str, method: str = "session/load") -> Object:
    """Take a session up again; return the whole response."""
    params: JsonValue = {"sessionId": session, "cwd": folder, "mcpServers": []}
    return await editor.call(method, params)


def kind_of(message: Object) -> JsonValue:
    """What a message is."""
    return at(message, "params", "update", "sessionUpdate") if "params" in message else "answer"


def listed(page: JsonValue) -> list[JsonValue]:
    """The sessions of a page."""
    sessions = at(page, "sessions")
    assert isinstance(sessions, list)
    return sessions


def prompt_of(session: str, text: str) -> JsonValue:
    """The parameters of a prompt."""
    return {"sessionId": session, "prompt": [{"type": "text", "text": text}]}

"""What the server says of itself and of its sessions, spelt out once, as JSON."""

import re
from typing import cast

from pydantic import JsonValue

from acp_server.version import __version__

INITIALIZED: JsonValue = {
    "protocolVersion": 1,
    "agentCapabilities": {
        "loadSession": False,
        "promptCapabilities": {"image": False, "audio": False, "embeddedContext": False},
        "mcpCapabilities": {"http": False, "sse": False},
        "sessionCapabilities": {"additionalDirectories": {}, "close": {}},
        "auth": {},
    },
    "authMethods": [],
    "agentInfo": {
        "name": "hermes-acp-server",
        "title": "Hermes Agent",
        "version": __version__,
    },
}

MODES = (
    ("ask", "Ask", "Asks before every edit and command"),
    ("accept_edits", "Accept edits", "Edits files in the workspace unasked; asks for the rest"),
    ("plan", "Plan", "Reads and plans; writes nothing and runs nothing"),
    ("bypass", "Bypass", "Never asks; only what is always forbidden stays so"),
)

COMMANDS: JsonValue = {
    "sessionUpdate": "available_commands_update",
    "availableCommands": [
        {
            "name": "help",
            "description": "List the commands, or explain one",
            "input": {"hint": "[command]"},
        },
        {"name": "version", "description": "Say which version of acp-server this is"},
    ],
}

END_TURN: JsonValue = {"stopReason": "end_turn"}
CANCELLED: JsonValue = {"stopReason": "cancelled"}

_IDENTIFIER = re.compile(r"\b(sess|msg)_[0-9a-f]{32}\b")


def mode_state(current: str) -> JsonValue:
    """The modes of a session, as the answer to session/new has them."""
    modes = [{"id": id_, "name": name, "description": text} for id_, name, text in MODES]
    return {"currentModeId": current, "availableModes": cast("JsonValue", modes)}


def config_options(current_mode: str) -> JsonValue:
    """The complete list of a session's options."""
    values = [{"value": id_, "name": name, "description": text} for id_, name, text in MODES]
    return [
        {
            "id": "mode",
            "name": "Mode",
            "description": "How much the agent may do without asking",
            "category": "mode",
            "type": "select",
            "currentValue": current_mode,
            "options": cast("JsonValue", values),
        }
    ]


def new_session(session_id: str, mode: str = "ask") -> JsonValue:
    """The answer to session/new."""
    return {
        "sessionId": session_id,
        "modes": mode_state(mode),
        "configOptions": config_options(mode),
    }


def mode_update(mode: str) -> JsonValue:
    """The mode has changed."""
    return {"sessionUpdate": "current_mode_update", "currentModeId": mode}


def options_update(mode: str) -> JsonValue:
    """The options have changed."""
    return {"sessionUpdate": "config_option_update", "configOptions": config_options(mode)}


def said(message_id: str, text: str) -> JsonValue:
    """One piece of an answer."""
    return _chunk("agent_message_chunk", message_id, text)


def thought(message_id: str, text: str) -> JsonValue:
    """One piece of a thought."""
    return _chunk("agent_thought_chunk", message_id, text)


def update(session_id: str, content: JsonValue) -> JsonValue:
    """An update as a whole message."""
    params: JsonValue = {"sessionId": session_id, "update": content}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def result(request_id: JsonValue, content: JsonValue) -> JsonValue:
    """An answer as a whole message."""
    return {"jsonrpc": "2.0", "id": request_id, "result": content}


def error(request_id: JsonValue, code: int, message: str, reason: str) -> JsonValue:
    """An error answer as a whole message."""
    body: JsonValue = {"code": code, "message": message, "data": {"message": reason}}
    return {"jsonrpc": "2.0", "id": request_id, "error": body}


def unknown_session(request_id: JsonValue, session_id: str) -> JsonValue:
    """The answer to a request about a session that is not open, as a whole message."""
    reason = f"no session {session_id!r}: it was closed, or never opened here"
    return error(request_id, -32002, "Session not found", reason)


def invalid_params(request_id: JsonValue, reason: str) -> JsonValue:
    """The answer to a request whose parameters do not fit, as a whole message."""
    return error(request_id, -32602, "Invalid params", reason)


def with_short_ids(value: JsonValue) -> JsonValue:
    """The value with our ids numbered in the order of their first appearance: sess_1, msg_2."""
    numbers: dict[str, str] = {}

    def shorten(found: re.Match[str]) -> str:
        count = sum(1 for each in numbers.values() if each.startswith(found[1]))
        return numbers.setdefault(found[0], f"{found[1]}_{count + 1}")

    def walk(each: JsonValue) -> JsonValue:
        if isinstance(each, str):
            return _IDENTIFIER.sub(shorten, each)
        if isinstance(each, list):
            return [walk(item) for item in each]
        if isinstance(each, dict):
            return {key: walk(item) for key, item in each.items()}
        return each

    return walk(value)


def _chunk(kind: str, message_id: str, text: str) -> JsonValue:
    return {
        "sessionUpdate": kind,
        "messageId": message_id,
        "content": {"type": "text", "text": text},
    }

"""What the server says of itself and of its sessions, spelt out once, as JSON."""

import re
from pathlib import PurePath
from typing import cast

from pydantic import JsonValue

from acp_server.version import __version__
from tests.support.engine import MODEL_ID

API_KEY: dict[str, JsonValue] = {
    "id": "api-key",
    "name": "API key",
    "description": "Uses ANTHROPIC_API_KEY, or the key that `acp-server setup` has stored",
}


def initialized(*more_auth_methods: JsonValue) -> JsonValue:
    """The answer to initialize, with more ways to sign in than a key that is there."""
    return {
        "protocolVersion": 1,
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
            "mcpCapabilities": {"http": True, "sse": True},
            "sessionCapabilities": {
                "additionalDirectories": {},
                "close": {},
                "delete": {},
                "list": {},
                "resume": {},
            },
            "auth": {"logout": {}},
        },
        "authMethods": [API_KEY, *more_auth_methods],
        "agentInfo": {
            "name": "hermes-acp-server",
            "title": "Hermes Agent",
            "version": __version__,
        },
        "_meta": {"steering": {"supported": True}},
    }


INITIALIZED = initialized()

MODES = (
    ("ask", "Ask", "Asks before every edit and command"),
    ("accept_edits", "Accept edits", "Edits files in the workspace unasked; asks for the rest"),
    ("plan", "Plan", "Reads and plans; writes nothing and runs nothing"),
    ("bypass", "Bypass", "Never asks; only what is always forbidden stays so"),
)

COMMANDS: JsonValue = {
    "sessionUpdate": "available_commands_update",
    "availableCommands": [
        {"name": "checkpoints", "description": "List what can be undone"},
        {
            "name": "compact",
            "description": "Sum the conversation up to make room",
            "input": {"hint": "[what must not be lost]"},
        },
        {
            "name": "context",
            "description": "Show what the model is told, and how full its window is",
        },
        {
            "name": "help",
            "description": "List the commands, or explain one",
            "input": {"hint": "[command]"},
        },
        {
            "name": "init",
            "description": "Write a first AGENTS.md for this project",
            "input": {"hint": "[again]"},
        },
        {
            "name": "mcp",
            "description": "Show the MCP servers: what they offer, and what is wrong with them",
        },
        {"name": "memory", "description": "Show what is remembered beyond this session"},
        {
            "name": "mode",
            "description": "Show the modes, or switch to one",
            "input": {"hint": "[mode]"},
        },
        {
            "name": "model",
            "description": "Show the models, or switch to one",
            "input": {"hint": "[model]"},
        },
        {
            "name": "queue",
            "description": "Run a prompt behind the turn that runs",
            "input": {"hint": "<prompt>"},
        },
        {"name": "reload", "description": "Read the instructions of the project anew"},
        {
            "name": "review",
            "description": "Review the uncommitted changes, or others",
            "input": {"hint": "[range or path]"},
        },
        {
            "name": "skills",
            "description": "List the skills, their state, and what is kept back",
        },
        {
            "name": "steer",
            "description": "Say something to the turn that runs",
            "input": {"hint": "<prompt>"},
        },
        {"name": "tools", "description": "List the tools, and what the mode does with their calls"},
        {
            "name": "undo",
            "description": "Bring back the files as they were before the last turn, or another one",
            "input": {"hint": "[number or id] [--conversation]"},
        },
        {"name": "usage", "description": "Show what this session has used and cost"},
        {"name": "version", "description": "Say which version of acp-server this is"},
    ],
}

END_TURN: JsonValue = {"stopReason": "end_turn"}
CANCELLED: JsonValue = {"stopReason": "cancelled"}

_IDENTIFIER = re.compile(r"\b(sess|msg)_[0-9a-f]{32}\b")


def command_lines() -> list[str]:
    """The commands as /help lists them."""
    commands = cast("dict[str, list[dict[str, JsonValue]]]", COMMANDS)["availableCommands"]
    hints = [cast("dict[str, str]", command.get("input") or {}).get("hint") for command in commands]
    usages = [f"{c['name']} {h}" if h else c["name"] for c, h in zip(commands, hints, strict=True)]
    return [
        f"`/{usage}`: {command['description']}"
        for usage, command in zip(usages, commands, strict=True)
    ]


def mode_state(current: str) -> JsonValue:
    """The modes of a session, as the answer to session/new has them."""
    modes = [{"id": id_, "name": name, "description": text} for id_, name, text in MODES]
    return {"currentModeId": current, "availableModes": cast("JsonValue", modes)}


def config_options(current_mode: str, model: str = MODEL_ID) -> JsonValue:
    """The complete list of a session's options, where there is one model that thinks as it does."""
    values = [{"value": id_, "name": name, "description": text} for id_, name, text in MODES]
    description = "How much the agent may do without asking"
    return [
        _select("mode", "Mode", description, current_mode, cast("list[JsonValue]", values)),
        model_option(model, (model, shown_name(model))),
    ]


def shown_name(model: str) -> str:
    """How a model is called in a picker: a script by its file, others by their id."""
    kind, _, source = model.partition(":")
    return f"Script: {PurePath(source).stem}" if kind == "scripted" else model


def model_option(current: str, *models: tuple[str, str]) -> JsonValue:
    """The picker of the model; `models` are ids and names."""
    values: list[JsonValue] = [{"value": id_, "name": name} for id_, name in models]
    return _select("model", "Model", "Who answers", current, values)


def thought_option(current: str, *levels: tuple[str, str]) -> JsonValue:
    """The picker of the thought level; `levels` are ids and names."""
    values: list[JsonValue] = [{"value": id_, "name": name} for id_, name in levels]
    description = "How deeply the model thinks before it answers"
    return _select("thought_level", "Thinking", description, current, values)


def new_session(session_id: str, mode: str = "ask", model: str = MODEL_ID) -> JsonValue:
    """The answer to session/new."""
    return {
        "sessionId": session_id,
        "modes": mode_state(mode),
        "configOptions": config_options(mode, model),
    }


def mode_update(mode: str) -> JsonValue:
    """The mode has changed."""
    return {"sessionUpdate": "current_mode_update", "currentModeId": mode}


def options_update(mode: str, model: str = MODEL_ID) -> JsonValue:
    """The options have changed."""
    return {"sessionUpdate": "config_option_update", "configOptions": config_options(mode, model)}


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


def error(
    request_id: JsonValue, code: int, message: str, reason: str, *, kind: str | None = None
) -> JsonValue:
    """An error answer as a whole message; `kind` is how a model failed."""
    data: JsonValue = {"message": reason} if kind is None else {"message": reason, "kind": kind}
    body: JsonValue = {"code": code, "message": message, "data": data}
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


def _select(
    option_id: str, name: str, description: str, current: str, values: list[JsonValue]
) -> JsonValue:
    return {
        "id": option_id,
        "name": name,
        "description": description,
        "category": option_id,
        "type": "select",
        "currentValue": current,
        "options": values,
    }

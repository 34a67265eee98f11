"""Expected JSON of the server's responses and updates, in one place."""

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import cast

from pydantic import JsonValue

from acp_server.version import __version__
from tests.support.server_parts import MODEL_ID
from tests.support.user_texts import CLOSED_OR_NEVER_OPENED, SESSION_NOT_FOUND, SHOW_VERSION

API_KEY: dict[str, JsonValue] = {
    "id": "api-key",
    "name": "API key",
    "description": "Uses ANTHROPIC_API_KEY, or the key that `acp-server setup` has stored",
}


def initialize_result(*more_auth_methods: JsonValue) -> JsonValue:
    """Return the result of `initialize`, with additional auth methods."""
    return {
        "protocolVersion": 1,
        "agentCapabilities": {
            "loadSession": True,
            "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
            "mcpCapabilities": {"http": True, "sse": True, "acp": True},
            "sessionCapabilities": {
                "additionalDirectories": {},
                "close": {},
                "delete": {},
                "fork": {},
                "list": {},
                "resume": {},
                "systemPrompt": {},
                "title": {},
            },
            "auth": {"logout": {}, "status": {}},
            "providers": {},
        },
        "authMethods": [API_KEY, *more_auth_methods],
        "agentInfo": {
            "name": "hermes-acp-server",
            "title": "Hermes Agent",
            "version": __version__,
        },
        "_meta": {
            "steering": {"supported": True},
            "hermes": {"restore": {}, "mcpServers": {}, "permissionRules": {}},
        },
    }


INITIALIZED = initialize_result()

MODE_DESCRIPTION = "How much the agent may do without asking"
MODEL_DESCRIPTION = "The model that answers"
THOUGHT_DESCRIPTION = "How deeply the model thinks before it answers"
MODES = (
    (
        "ask",
        "Ask before changes",
        "Reads freely; asks before edits, and before commands that could change something",
    ),
    (
        "accept_edits",
        "Accept edits",
        "Edits files in the workspace without asking; asks before the rest, such as commands",
    ),
    ("plan", "Plan only", "Reads and makes a plan; edits nothing and runs nothing"),
    (
        "bypass",
        "Bypass permissions",
        "Never asks: edits and runs anything but a short list of dangerous commands",
    ),
)

NETWORK_LEVELS = (
    ("off", "Off", "Commands have no network but one of their own"),
    ("hosts", "Allowed hosts", "Asks about each host that a command connects to"),
    ("on", "On", "Commands use the whole network"),
)

PORT_LEVELS = (
    ("off", "Off", "Only commands of the session reach them"),
    ("ask", "Ask", "Asks before this machine can connect to a port"),
    ("on", "On", "The agent may let this machine connect to any port of theirs"),
)

COMMANDS: JsonValue = {
    "sessionUpdate": "available_commands_update",
    "availableCommands": [
        {"name": "checkpoints", "description": "List the checkpoints that you can restore"},
        {
            "name": "compact",
            "description": "Summarize the conversation to free space in the context window",
            "input": {"hint": "[what must not be lost]"},
        },
        {
            "name": "context",
            "description": "Show the system prompt's contents and how full the context window is",
        },
        {
            "name": "fast",
            "description": "Switch fast mode on or off",
            "input": {"hint": "[on|off]"},
        },
        {
            "name": "forward",
            "description": "Open a port of sandboxed commands to this machine, or list the ports",
            "input": {"hint": "[port | stop port]"},
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
            "description": "Show the MCP servers and their problems; sign in to one, or out",
            "input": {"hint": "[sign-in or sign-out] [server]"},
        },
        {"name": "memory", "description": "Show the memories that are kept across sessions"},
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
            "description": "Run a prompt after the current turn",
            "input": {"hint": "<prompt>"},
        },
        {"name": "reload", "description": "Read the project's instructions again"},
        {
            "name": "reset",
            "description": "Clear the conversation, so that the model starts anew; files stay as "
            "they are",
        },
        {
            "name": "review",
            "description": "Review the uncommitted changes, or others",
            "input": {"hint": "[range or path]"},
        },
        {
            "name": "skills",
            "description": "List the skills, their state, and the withheld ones",
        },
        {
            "name": "steer",
            "description": "Send a message to the current turn",
            "input": {"hint": "<prompt>"},
        },
        {
            "name": "tools",
            "description": "List the tools, and how the current mode treats their calls",
        },
        {
            "name": "undo",
            "description": "Restore files to their state before the last or an earlier turn",
            "input": {"hint": "[number or id] [--conversation]"},
        },
        {"name": "usage", "description": "Show the tokens and the cost of this session"},
        {"name": "version", "description": SHOW_VERSION},
    ],
}

END_TURN: JsonValue = {"stopReason": "end_turn"}
CANCELLED: JsonValue = {"stopReason": "cancelled"}

IDENTIFIER = re.compile(r"\b(sess|msg)_[0-9a-f]{32}\b")


def command_lines() -> list[str]:
    """Return the commands as /help lists them."""
    commands = cast("dict[str, list[dict[str, JsonValue]]]", COMMANDS)["availableCommands"]
    hints = [cast("dict[str, str]", command.get("input") or {}).get("hint") for command in commands]
    usages = [f"{c['name']} {h}" if h else c["name"] for c, h in zip(commands, hints, strict=True)]
    return [
        f"`/{usage}`: {command['description']}"
        for usage, command in zip(usages, commands, strict=True)
    ]


def mode_state(current: str) -> JsonValue:
    """Return the mode state in the result of `session/new`."""
    modes = [{"id": id_, "name": name, "description": text} for id_, name, text in MODES]
    return {"currentModeId": current, "availableModes": cast("JsonValue", modes)}


def config_options(current_mode: str, model: str = MODEL_ID, network: str = "") -> JsonValue:
    """Return all config options of a session with one model, which has no thought levels.

    `network` is the level of a server whose commands run in the sandbox.
    """
    values = [{"value": id_, "name": name, "description": text} for id_, name, text in MODES]
    return [
        _select("mode", "Mode", MODE_DESCRIPTION, current_mode, cast("list[JsonValue]", values)),
        model_option(model, (model, model_display_name(model))),
        *([network_option(network), ports_option("ask")] if network else []),
    ]


def network_option(current: str) -> JsonValue:
    """Return the option for the network of commands."""
    values: list[JsonValue] = [
        {"value": id_, "name": name, "description": text} for id_, name, text in NETWORK_LEVELS
    ]
    description = "What commands in the sandbox can connect to"
    return _select("network", "Network for commands", description, current, values, "_network")


def ports_option(current: str) -> JsonValue:
    """Return the option for the ports of commands."""
    values: list[JsonValue] = [
        {"value": id_, "name": name, "description": text} for id_, name, text in PORT_LEVELS
    ]
    description = "Whether this machine can connect to servers of commands in the sandbox"
    return _select("ports", "Ports of commands", description, current, values, "_network")


def model_display_name(model: str) -> str:
    """Return the name of a model in a picker: a script's file name, otherwise the id."""
    kind, _, source = model.partition(":")
    return f"Script: {PurePath(source).stem}" if kind == "scripted" else model


def model_option(current: str, *models: tuple[str, str]) -> JsonValue:
    """Return the model option; `models` are ids and names."""
    values: list[JsonValue] = [{"value": id_, "name": name} for id_, name in models]
    return _select("model", "Model", MODEL_DESCRIPTION, current, values)


def thought_option(current: str, *levels: tuple[str, str]) -> JsonValue:
    """Return the thought level option; `levels` are ids and names."""
    values: list[JsonValue] = [{"value": id_, "name": name} for id_, name in levels]
    return _select("thought_level", "Thinking", THOUGHT_DESCRIPTION, current, values)


def new_session_result(
    session_id: str, mode: str = "ask", model: str = MODEL_ID, network: str = ""
) -> JsonValue:
    """Return the result of `session/new`."""
    return {
        "sessionId": session_id,
        "modes": mode_state(mode),
        "configOptions": config_options(mode, model, network),
    }


def mode_update(mode: str) -> JsonValue:
    """Return the update for a changed mode."""
    return {"sessionUpdate": "current_mode_update", "currentModeId": mode}


def options_update(mode: str, model: str = MODEL_ID, network: str = "") -> JsonValue:
    """Return the update for changed config options."""
    return {
        "sessionUpdate": "config_option_update",
        "configOptions": config_options(mode, model, network),
    }


def message_chunk(message_id: str, text: str) -> JsonValue:
    """Return the update for a chunk of an agent message."""
    return _chunk("agent_message_chunk", message_id, text)


def thought_chunk(message_id: str, text: str) -> JsonValue:
    """Return the update for a chunk of a thought."""
    return _chunk("agent_thought_chunk", message_id, text)


def session_update(session_id: str, content: JsonValue) -> JsonValue:
    """Return a complete `session/update` notification."""
    params: JsonValue = {"sessionId": session_id, "update": content}
    return {"jsonrpc": "2.0", "method": "session/update", "params": params}


def result_response(request_id: JsonValue, content: JsonValue) -> JsonValue:
    """Return a complete success response."""
    return {"jsonrpc": "2.0", "id": request_id, "result": content}


def without_commands(messages: Sequence[JsonValue]) -> list[JsonValue]:
    """Return messages or updates without the list of commands, which comes when it is known."""
    return [each for each in messages if "available_commands_update" not in str(each)]


def error_response(
    request_id: JsonValue, code: int, message: str, reason: str, *, kind: str | None = None
) -> JsonValue:
    """Return a complete error response; `kind` is the kind of a model's failure."""
    data: JsonValue = {"details": reason} if kind is None else {"details": reason, "kind": kind}
    line = " ".join(f"{message}: {reason}".split() if message else reason.split())
    body: JsonValue = {"code": code, "message": line, "data": data}
    return {"jsonrpc": "2.0", "id": request_id, "error": body}


def unknown_session(request_id: JsonValue, session_id: str) -> JsonValue:
    """Return the error response for a session that is not open."""
    reason = (
        f"no session {session_id!r}: {CLOSED_OR_NEVER_OPENED}; "
        "a session without a prompt is kept for one day"
    )
    return error_response(request_id, -32002, SESSION_NOT_FOUND, reason)


def invalid_params(request_id: JsonValue, reason: str) -> JsonValue:
    """Return the error response for invalid params."""
    return error_response(request_id, -32602, "Invalid params", reason)


def shorten_ids(value: JsonValue) -> JsonValue:
    """Replace generated ids by numbers in order of first appearance: sess_1, msg_2."""
    numbers: dict[str, str] = {}

    def shorten(found: re.Match[str]) -> str:
        count = sum(1 for each in numbers.values() if each.startswith(found[1]))
        return numbers.setdefault(found[0], f"{found[1]}_{count + 1}")

    def walk(each: JsonValue) -> JsonValue:
        if isinstance(each, str):
            return IDENTIFIER.sub(shorten, each)
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
    option_id: str,
    name: str,
    description: str,
    current: str,
    values: list[JsonValue],
    category: str = "",
) -> JsonValue:
    return {
        "id": option_id,
        "name": name,
        "description": description,
        "category": category or option_id,
        "type": "select",
        "currentValue": current,
        "options": values,
    }

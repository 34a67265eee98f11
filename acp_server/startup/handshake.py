"""Fast answer to the first `initialize`, before any slow import.

Owns stdin and stdout until the JSON-RPC peer takes over, and the table of agent capabilities
(tests check it against the protocol models). Imports only small standard modules such as json and
os: importing pydantic alone would take longer than the whole answer. Any message that is not a
plain `initialize` is handed over unanswered.
"""

from __future__ import annotations

import json
import os
import signal
import sys

from acp_server.startup.isolation import isolated_server
from acp_server.version import __version__

TYPE_CHECKING = False  # typing itself is not imported
if TYPE_CHECKING:
    from typing import NoReturn

    from pydantic import JsonValue

PROTOCOL_VERSION = 1
PROTOCOL_VERSIONS = range(2**16)
STDERR = 2
READ_BYTES = 64 * 1024
MAX_INITIALIZE_BYTES = 1024 * 1024
INT64 = range(-(2**63), 2**63)
EXIT_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGTERM", "SIGHUP", "SIGINT") if hasattr(signal, name)
)
INTERRUPTED_EXIT_CODE = 130

AGENT_INFO: JsonValue = {
    "name": "hermes-acp-server",
    "title": "Hermes Agent",
    "version": __version__,
}
SESSION_CAPABILITIES: dict[str, JsonValue] = {
    "additionalDirectories": {},
    "close": {},
    "delete": {},
    "fork": {},
    "list": {},
    "resume": {},
    "systemPrompt": {},
    "title": {},
}
"""`fork`, `systemPrompt` and `title` are drafts; clients use them only if they find them here."""
AGENT_CAPABILITIES: dict[str, JsonValue] = {
    "loadSession": True,
    "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
    "mcpCapabilities": {"http": True, "sse": True, "acp": True},
    "sessionCapabilities": SESSION_CAPABILITIES,
    "auth": {"logout": {}, "status": {}},
    "providers": {},
}
"""`auth.status`, `providers` and `mcpCapabilities.acp` are drafts, too."""
AUTH_METHOD_IDS = ("api-key", "setup")


class ClaimedStdio:
    """The descriptors claimed for ACP. No stray `print` or child process can use them."""

    def __init__(self, read: int, write: int) -> None:
        self.read = read
        self.write = write
        self.unread = b""
        """Bytes read but not answered; the peer processes them first."""
        self.initialize_params: dict[str, JsonValue] | None = None
        """The params of `initialize`, once it was answered here; else None."""
        self.has_client_left = False
        """Whether the client disconnected right after `initialize`."""


def initialize_result(params: JsonValue) -> JsonValue:
    """Return the result of `initialize`, whatever protocol version the client requested.

    An unsupported version is answered with the version that we support, never with an error and
    never with an echo
    (https://agentclientprotocol.com/protocol/v1/initialization#version-negotiation). The terminal
    login is offered only to clients that can open a terminal.
    """
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "agentCapabilities": AGENT_CAPABILITIES,
        "authMethods": _auth_methods(params),
        "agentInfo": AGENT_INFO,
        "_meta": {
            "steering": {"supported": True},
            "hermes": {"restore": {}, "mcpServers": {}, "permissionRules": {}},
        },
    }


def _auth_methods(params: JsonValue) -> JsonValue:
    api_key_method: dict[str, JsonValue] = {
        "id": AUTH_METHOD_IDS[0],
        "name": "API key",
        "description": "Uses ANTHROPIC_API_KEY, or the key that `acp-server setup` has stored",
    }
    if _get_nested(params, "clientCapabilities", "_meta", "terminal-auth") is True:
        # The client runs this command in the workspace, whose files must not be imported.
        program, *arguments = isolated_server("setup")
        command: JsonValue = {"label": "acp-server setup", "command": program, "args": [*arguments]}
        api_key_method["_meta"] = {"terminal-auth": command}
    if _get_nested(params, "clientCapabilities", "auth", "terminal") is not True:
        return [api_key_method]
    terminal_method: JsonValue = {
        "id": AUTH_METHOD_IDS[1],
        "type": "terminal",
        "name": "Sign in from a terminal",
        "description": "Asks for an API key and stores it",
        "args": ["setup"],
    }
    return [api_key_method, terminal_method]


def _get_nested(value: JsonValue, *path: str) -> JsonValue:
    for name in path:
        if not isinstance(value, dict):
            return None
        value = value.get(name)
    return value


def claim_stdio() -> ClaimedStdio:
    """Claim stdin and stdout for the protocol.

    Descriptor 1 is redirected to stderr, so that a stray print shows in the editor's log instead
    of corrupting a message. Descriptor 0 becomes /dev/null, so that no child process reads a
    message.

    Raises:
        OSError: stdin or stdout is closed.
    """
    for descriptor in (0, 1):
        os.fstat(descriptor)
    null_descriptor = os.open(os.devnull, os.O_RDWR)  # gets number 2 if stderr is closed
    wire = ClaimedStdio(os.dup(0), os.dup(1))
    os.dup2(null_descriptor, 0)
    os.dup2(STDERR, 1)
    if null_descriptor == STDERR:
        os.dup2(1, STDERR)  # dup2 makes it inheritable; os.open did not
    else:
        os.close(null_descriptor)
    sys.stdout = sys.stderr
    return wire


def answer_initialize(wire: ClaimedStdio) -> None:
    """Answer a plain `initialize`, then wait for the next byte before loading the server.

    So a client that only sends `initialize` (a registry's probe, an editor's list of agents) never
    waits for slow imports. Nothing can be lost before the peer takes over, so until then a signal
    ends the process immediately.
    """
    exit_immediately_on_signals()
    try:
        _read_line(wire)
        line, newline, remainder = wire.unread.partition(b"\n")
        answer = _response_line(line, wire) if newline else None
        if answer is None:
            return
        wire.unread = remainder
        _write_all(wire.write, answer)
        if not remainder:
            # Blocks while the client is idle: the imports start with its next message.
            wire.unread = os.read(wire.read, READ_BYTES)
            wire.has_client_left = not wire.unread
    except BlockingIOError:  # a non-blocking descriptor: the peer can wait for it, we cannot
        return
    except OSError:
        wire.has_client_left = True


def exit_immediately_on_signals() -> None:
    """Make signals end the process immediately: before the peer runs, and after it."""
    for number in EXIT_SIGNALS:
        signal.signal(number, _exit_on_signal)


def exit_code_for_signal(number: int) -> int:
    """Return the exit code of a server that was ended by this signal."""
    return INTERRUPTED_EXIT_CODE if number == signal.SIGINT else 0


def exit_process(exit_code: int) -> NoReturn:
    """End the process immediately, without interpreter finalization.

    Call it only when all output is written. Finalization takes time, and a signal during it would
    end the process as if killed.
    """
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    except (OSError, ValueError):  # stderr has no reader, or is closed
        pass
    os._exit(exit_code)


def _exit_on_signal(number: int, frame: object) -> None:
    del frame
    os._exit(exit_code_for_signal(number))


def _read_line(wire: ClaimedStdio) -> None:
    while b"\n" not in wire.unread and len(wire.unread) < MAX_INITIALIZE_BYTES:
        chunk = os.read(wire.read, READ_BYTES)
        if not chunk:
            return
        wire.unread += chunk


def _response_line(line: bytes, wire: ClaimedStdio) -> bytes | None:
    """Return the response line to a plain `initialize`; None for any other message.

    Plain means that it can be encoded again as UTF-8 JSON: no NaN, no lone surrogates.
    """
    try:
        message: JsonValue = json.loads(line.decode("utf-8"))
        _encode(message)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or message.get("method") != "initialize":
        return None
    identifier, params = message.get("id"), message.get("params")
    if not _is_valid_id(identifier) or message.get("jsonrpc") != "2.0":
        return None
    if not isinstance(params, dict) or not _is_valid_version(params.get("protocolVersion")):
        return None
    result = initialize_result(params)
    answer: JsonValue = {"jsonrpc": "2.0", "id": identifier, "result": result}
    wire.initialize_params = params
    return _encode(answer) + b"\n"


def _encode(value: JsonValue) -> bytes:
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8")


def _is_valid_id(value: JsonValue) -> bool:
    return type(value) is str or (type(value) is int and value in INT64)


def _is_valid_version(value: JsonValue) -> bool:
    return type(value) is int and value in PROTOCOL_VERSIONS


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]

"""`--format acp`: all ACP messages as JSON lines, with secrets removed.

The chunks of a streamed message are joined to one line, written when the message is complete: a
secret that is split across two chunks would not be found in either.
"""

import json
from collections.abc import Callable
from typing import cast

from pydantic import JsonValue

from acp_server.headless.run.lines import json_line
from acp_server.headless.run.sanitizing import OutputSanitizer
from acp_server.headless.wire import Sender, WireLine

Json = dict[str, JsonValue]
CHUNK_UPDATES = frozenset({"agent_message_chunk", "agent_thought_chunk", "user_message_chunk"})


class AcpMessageWriter:
    """Writes recorded messages, sanitized."""

    def __init__(self, write: Callable[[str], None], cleaner: OutputSanitizer) -> None:
        self._write = write
        self._cleaner = cleaner
        self._buffered: Json | None = None
        """The first chunk of the message being streamed; its texts so far are in `_texts`."""
        self._texts: list[str] = []

    def add(self, line: WireLine) -> None:
        """Write a message, or buffer it if it is a chunk of a streamed message."""
        try:
            message = cast("JsonValue", json.loads(line.line))
        except (ValueError, RecursionError):
            message = line.line.decode("utf-8", "replace")
        chunk = _chunk_of(message)
        if self._buffered is not None and chunk is not None and _continues(self._buffered, message):
            self._texts.append(str(chunk["text"]))
            return
        self.end()
        if chunk is not None and isinstance(message, dict):
            self._buffered, self._texts = message, [str(chunk["text"])]
        else:
            self._write_message(line.sender, message)

    def end(self) -> None:
        """Write the buffered message."""
        message, self._buffered = self._buffered, None
        chunk = _chunk_of(message)
        if chunk is not None:
            chunk["text"] = "".join(self._texts)
            self._write_message("agent", message)

    def _write_message(self, sender: Sender, message: JsonValue) -> None:
        clean = self._cleaner.partial_json(message)
        self._write(json_line({"from": sender, "message": clean}))


def _update_of(message: JsonValue) -> Json | None:
    params = message.get("params") if isinstance(message, dict) else None
    update = params.get("update") if isinstance(params, dict) else None
    return update if isinstance(update, dict) else None


def _chunk_of(message: JsonValue) -> Json | None:
    """Return the text block of a message chunk; None for any other message."""
    update = _update_of(message)
    if update is None or update.get("sessionUpdate") not in CHUNK_UPDATES:
        return None
    content = update.get("content")
    is_text = isinstance(content, dict) and isinstance(content.get("text"), str)
    return cast("Json", content) if is_text else None


def _continues(buffered: JsonValue, message: JsonValue) -> bool:
    """Return whether a chunk continues the buffered message."""
    one, other = _update_of(buffered), _update_of(message)
    if one is None or other is None:
        return False
    return all(one.get(key) == other.get(key) for key in ("sessionUpdate", "messageId"))

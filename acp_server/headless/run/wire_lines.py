"""`--format acp`: all ACP messages as JSON lines, with secrets removed.

The chunks of a streamed message are joined to one line, written when the message is complete: a
secret that is split across two chunks would not be found in either.
"""

import json
from collections.abc import Callable
from typing import cast

from pydantic import JsonValue

from acp_server.headless.run.lines import json_line
from acp_server.headless.run.sanitizing import Cleaner
from acp_server.headless.wire import Sender, WireLine

Json = dict[str, JsonValue]
STREAMED = frozenset({"agent_message_chunk", "agent_thought_chunk", "user_message_chunk"})


class WireLines:
    """Writes recorded messages, sanitized."""

    def __init__(self, write: Callable[[str], None], cleaner: Cleaner) -> None:
        self._write = write
        self._cleaner = cleaner
        self._held: Json | None = None
        """The first chunk of the message being streamed; its texts so far are in `_texts`."""
        self._texts: list[str] = []

    def take(self, line: WireLine) -> None:
        """Write a message, or buffer it if it is a chunk of a streamed message."""
        try:
            message = cast("JsonValue", json.loads(line.line))
        except (ValueError, RecursionError):
            message = line.line.decode("utf-8", "replace")
        chunk = _chunk_of(message)
        if self._held is not None and chunk is not None and _is_more(self._held, message):
            self._texts.append(_text_of(chunk))
            return
        self.end()
        if chunk is not None and isinstance(message, dict):
            self._held, self._texts = message, [_text_of(chunk)]
        else:
            self._put(line.sender, message)

    def end(self) -> None:
        """Write the buffered message."""
        held, self._held = self._held, None
        chunk = _chunk_of(held)
        if chunk is not None:
            chunk["text"] = "".join(self._texts)
            self._put("agent", held)

    def _put(self, sender: Sender, message: JsonValue) -> None:
        clean = self._cleaner.json_cut(message)
        self._write(json_line({"from": sender, "message": clean}))


def _update_of(message: JsonValue) -> Json | None:
    params = message.get("params") if isinstance(message, dict) else None
    update = params.get("update") if isinstance(params, dict) else None
    return update if isinstance(update, dict) else None


def _chunk_of(message: JsonValue) -> Json | None:
    """Return the text block of a message chunk; None for any other message."""
    update = _update_of(message)
    if update is None or update.get("sessionUpdate") not in STREAMED:
        return None
    content = update.get("content")
    is_text = isinstance(content, dict) and isinstance(content.get("text"), str)
    return cast("Json", content) if is_text else None


def _text_of(chunk: Json) -> str:
    return str(chunk["text"])


def _is_more(held: JsonValue, message: JsonValue) -> bool:
    """Return whether a chunk continues the buffered message."""
    one, other = _update_of(held), _update_of(message)
    return one is not None and other is not None and _marks(one) == _marks(other)


def _marks(update: Json) -> tuple[JsonValue, JsonValue]:
    return update.get("sessionUpdate"), update.get("messageId")

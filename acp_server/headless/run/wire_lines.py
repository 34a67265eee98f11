"""The raw wire, for `--format acp`: each message as it was, but for secrets.

A message that streams is one line, written when it has ended: a secret that lies across two pieces
would not be found in either.
"""

import json
from collections.abc import Callable
from typing import cast

from pydantic import JsonValue

from acp_server.headless.run.cleaning import Cleaner
from acp_server.headless.run.lines import json_line
from acp_server.headless.wire import Sender, WireLine

Json = dict[str, JsonValue]
STREAMED = frozenset({"agent_message_chunk", "agent_thought_chunk", "user_message_chunk"})


class WireLines:
    """Takes lines of the wire, and writes them clean."""

    def __init__(self, write: Callable[[str], None], cleaner: Cleaner) -> None:
        self._write = write
        self._cleaner = cleaner
        self._held: Json | None = None
        """The message of which more pieces may come, with all of them so far."""
        self._texts: list[str] = []

    def take(self, line: WireLine) -> None:
        """Write a line, or hold it back until its message has ended."""
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
        """Write what is held back."""
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
    """Return the text block of a piece of a message; None if it is none."""
    update = _update_of(message)
    if update is None or update.get("sessionUpdate") not in STREAMED:
        return None
    content = update.get("content")
    is_text = isinstance(content, dict) and isinstance(content.get("text"), str)
    return cast("Json", content) if is_text else None


def _text_of(chunk: Json) -> str:
    return str(chunk["text"])


def _is_more(held: JsonValue, message: JsonValue) -> bool:
    """Whether a piece belongs to the message that is held back."""
    one, other = _update_of(held), _update_of(message)
    return one is not None and other is not None and _marks(one) == _marks(other)


def _marks(update: Json) -> tuple[JsonValue, JsonValue]:
    return update.get("sessionUpdate"), update.get("messageId")

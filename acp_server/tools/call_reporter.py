"""Sends the updates of one tool call to the client, and limits the size of raw values."""

from collections.abc import Mapping
from itertools import islice

from pydantic import JsonValue

from acp_server.turn.events import CallChanged, CallContent, Location
from acp_server.turn.ports import TurnSink

MAX_RAW_CHARACTERS = 1_000
"""Limit of one string in `rawInput` or `rawOutput`; the tool call's content has the full text."""
MAX_RAW_ITEMS = 50
"""Limit of the items of one list or object."""
MAX_RAW_TOTAL_CHARACTERS = 10_000
"""Limit of all strings together; everything beyond it is left out."""
MAX_TITLE_CHARACTERS = 300


class CallReporter:
    """Sends the updates of one tool call to the event sink.

    Methods that await apply the sink's back-pressure; those that do not may also be called while
    the turn is being cancelled.
    """

    def __init__(self, call_id: str, sink: TurnSink) -> None:
        self.call_id = call_id
        self._title: str | None = None
        self._locations: tuple[Location, ...] | None = None
        # For events that are not about the tool call's own fields.
        self.emit = sink.emit
        self.emit_now = sink.emit_now

    async def describe(self, title: str, locations: tuple[Location, ...]) -> None:
        """Update the title (made a single line) and the locations, if they have changed."""
        title = " ".join(title.splitlines())
        if len(title) > MAX_TITLE_CHARACTERS:
            title = f"{title[:MAX_TITLE_CHARACTERS]}…"
        update = CallChanged(
            self.call_id,
            title=title if title != self._title else None,
            locations=locations if locations != (self._locations or ()) else None,
        )
        if update != CallChanged(self.call_id):
            self._title, self._locations = title, locations
            await self.emit(update)

    async def show(self, content: tuple[CallContent, ...]) -> None:
        """Replace the content of the tool call."""
        await self.emit(CallChanged(self.call_id, content=content))

    def show_transient(self, content: tuple[CallContent, ...]) -> None:
        """Replace the content by an intermediate state; may be dropped if the client is slow."""
        self.emit_now(CallChanged(self.call_id, content=content, is_passing=True))

    async def show_arguments(self, arguments: Mapping[str, JsonValue]) -> None:
        """Send the complete arguments as the raw input, truncated."""
        await self.emit(CallChanged(self.call_id, raw_input=truncate_raw(arguments)))

    async def mark_in_progress(self) -> None:
        """Set the status to `in_progress`: from here on the call may take effect."""
        await self.emit(CallChanged(self.call_id, "in_progress"))


def truncate_raw(values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return raw values with long texts and lists cut, and a limit on the total size."""
    return _Truncator().truncate_object(values)


class _Truncator:
    """Truncates values until the total limit is used up."""

    def __init__(self) -> None:
        self._characters_left = MAX_RAW_TOTAL_CHARACTERS

    def truncate_object(self, values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        truncated: dict[str, JsonValue] = {}
        for name, value in islice(values.items(), MAX_RAW_ITEMS):
            if self._characters_left <= 0:
                break
            truncated[self._truncate_text(name)] = self._truncate_value(value)
        return truncated

    def _truncate_value(self, value: JsonValue) -> JsonValue:
        match value:
            case str():
                return self._truncate_text(value)
            case list():
                items: list[JsonValue] = []
                for item in value[:MAX_RAW_ITEMS]:
                    if self._characters_left <= 0:
                        break
                    self._characters_left -= 1  # so that nested empty lists use up the limit too
                    items.append(self._truncate_value(item))
                return items
            case dict():
                return self.truncate_object(value)
            case _:
                self._characters_left -= len(str(value))
                return value

    def _truncate_text(self, text: str) -> str:
        max_characters = min(MAX_RAW_CHARACTERS, max(0, self._characters_left))
        self._characters_left -= min(len(text), max_characters)
        return (
            text
            if len(text) <= max_characters
            else f"{text[:max_characters]}… ({len(text):,} characters)"
        )

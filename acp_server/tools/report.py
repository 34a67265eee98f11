"""What one call tells the user while it goes on, and the bounds of what is told."""

from collections.abc import Mapping, Sequence
from itertools import islice

from pydantic import JsonValue

from acp_server.turn.events import CallChanged, CallContent, CallStatus, Event, Location
from acp_server.turn.ports import Sink

MOST_RAW_CHARACTERS = 1_000
"""How much of one string of raw input or output is told; the rest stands in the content."""
MOST_RAW_ITEMS = 50
"""How many items of one list or object are told."""
MOST_RAW_TOTAL_CHARACTERS = 10_000
"""How much is told in all; what comes behind is left out."""
MOST_TITLE_CHARACTERS = 300


class Report:
    """Speaks for one call."""

    def __init__(self, call_id: str, sink: Sink) -> None:
        self.call_id = call_id
        self._sink = sink
        self._title: str | None = None
        self._locations: tuple[Location, ...] | None = None

    async def describe(self, title: str, locations: tuple[Location, ...]) -> None:
        """Tell what the call is about, as far as that is news, in one line."""
        title = _one_line(title)
        news = CallChanged(
            self.call_id,
            title=title if title != self._title else None,
            locations=locations if locations != (self._locations or ()) else None,
        )
        if news != CallChanged(self.call_id):
            self._title, self._locations = title, locations
            await self._sink.emit(news)

    async def show(self, content: tuple[CallContent, ...]) -> None:
        """Show this in the place of what was shown before."""
        await self._sink.emit(CallChanged(self.call_id, content=content))

    def show_passing(self, content: tuple[CallContent, ...]) -> None:
        """Show this until something newer is there; it may be left out for a slow reader."""
        self._sink.emit_now(CallChanged(self.call_id, content=content, is_passing=True))

    async def accept(self, arguments: Mapping[str, JsonValue]) -> None:
        """Tell the arguments, now that they are whole."""
        await self._sink.emit(CallChanged(self.call_id, raw_input=bounded(arguments)))

    async def begin(self) -> None:
        """Tell that the call takes effect from here on."""
        await self._change("in_progress")

    async def tell(self, event: Event) -> None:
        """Tell something that is not about the call's own fields."""
        await self._sink.emit(event)

    def tell_now(self, event: Event) -> None:
        """Tell something that must be told, also while the turn is being cancelled."""
        self._sink.emit_now(event)

    async def _change(self, status: CallStatus) -> None:
        await self._sink.emit(CallChanged(self.call_id, status))


def bounded(values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    """Return raw values with long texts and lists cut, and not too much in all."""
    return _Bounds().object(values)


class _Bounds:
    """Cuts values until nothing more may be told."""

    def __init__(self) -> None:
        self._characters_left = MOST_RAW_TOTAL_CHARACTERS

    def object(self, values: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        kept: dict[str, JsonValue] = {}
        for name, value in islice(values.items(), MOST_RAW_ITEMS):
            if self._characters_left <= 0:
                break
            kept[self._text(name)] = self._value(value)
        return kept

    def _value(self, value: JsonValue) -> JsonValue:
        match value:
            case str():
                return self._text(value)
            case list():
                return self._list(value)
            case dict():
                return self.object(value)
            case _:
                self._characters_left -= len(str(value))
                return value

    def _list(self, values: Sequence[JsonValue]) -> list[JsonValue]:
        kept: list[JsonValue] = []
        for value in values[:MOST_RAW_ITEMS]:
            if self._characters_left <= 0:
                break
            self._characters_left -= 1  # for the nothing that an empty item is
            kept.append(self._value(value))
        return kept

    def _text(self, text: str) -> str:
        most = min(MOST_RAW_CHARACTERS, max(0, self._characters_left))
        self._characters_left -= min(len(text), most)
        return text if len(text) <= most else f"{text[:most]}… ({len(text):,} characters)"


def _one_line(text: str) -> str:
    line = " ".join(text.splitlines())
    return line if len(line) <= MOST_TITLE_CHARACTERS else f"{line[:MOST_TITLE_CHARACTERS]}…"

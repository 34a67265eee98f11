"""Masks of recordings: no secrets, and names in place of paths, ids and days.

A path of this machine or a session's id is replaced by a mark such as `<<workspace>>`, known by
its value, and a mark in a recorded answer by the value at the replay. Facts of the machine in the
system prompt are replaced by the prompt engine, which wrote them.
"""

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TypeAlias

from pydantic import JsonValue

from acp_server.text.json_values import Object, as_object, map_strings
from acp_server.text.redaction import REDACTED, redact_secrets, redact_tokens
from prompt_engine.hint_blocks import mask_signatures
from prompt_engine.machine_facts import mask_machine_facts
from prompt_engine.sections.day_and_model import format_day

KnownValues: TypeAlias = Callable[[], Mapping[str, str]]
"""Returns the values of this process and its sessions, by the names of their marks."""
IDENTIFYING_FIELDS = frozenset({"metadata", "prompt_cache_key", "safety_identifier", "user"})
"""Fields of a request that name its session or user and never change an answer."""
SYSTEM_FIELDS = ("system", "instructions")
SYSTEM_ROLES = frozenset({"system", "developer"})
MIN_VALUE_CHARACTERS = 4
_PLACE_FIELDS = ("type", "index", "output_index", "content_index", "summary_index", "item_id")
"""Fields of an event that say which text its fragment belongs to."""
_PATH_CHARACTERS = frozenset("._-")


def machine_values() -> Mapping[str, str]:
    """Return the values of this machine and day, by the names of their marks."""
    return {
        "home": str(Path.home()),
        "temporary directory": tempfile.gettempdir(),
        "today": format_day(date.today()),  # noqa: DTZ011  as the prompt names it
    }


@dataclass(slots=True)
class RecordingMask:
    """Masks requests and answers, and fills answers in again."""

    known_values: KnownValues
    secrets: tuple[str, ...] = ()
    _masked_texts: dict[str, str] = field(default_factory=dict[str, str], init=False)
    """Masked texts by text: each request repeats the one before."""
    _masked_with: Mapping[str, str] = field(default_factory=dict[str, str], init=False)

    def request(self, body: Object, further_secrets: Sequence[str] = ()) -> Object:
        """Return a request's body as it is recorded."""
        kept = {name: each for name, each in body.items() if name not in IDENTIFYING_FIELDS}
        values = self._values()
        if values != self._masked_with:
            self._masked_texts.clear()
            self._masked_with = values

        def mask(text: str) -> str:
            found = self._masked_texts.get(text)
            if found is None:
                hidden = redact_secrets(self._hide_known(mask_signatures(text), further_secrets))
                found = self._masked_texts[text] = mask_values(hidden, values)
            return found

        def mask_system(text: str) -> str:
            return mask(mask_machine_facts(text))

        masked: Object = {}
        for name, value in kept.items():
            if name in SYSTEM_FIELDS:
                masked[name] = map_strings(value, mask_system)
            elif isinstance(value, list):
                masked[name] = [
                    map_strings(
                        each, mask_system if as_object(each).get("role") in SYSTEM_ROLES else mask
                    )
                    for each in value
                ]
            else:
                masked[name] = map_strings(value, mask)
        return masked

    def answer(
        self, events: Sequence[JsonValue], further_secrets: Sequence[str] = ()
    ) -> list[JsonValue]:
        """Return an answer's events as they are recorded.

        Only values with the form of a secret are hidden: hiding all that follows a name such as
        `token =` would break the code in a tool call.
        """
        values = self._values()

        def mask(text: str) -> str:
            return mask_values(redact_tokens(self._hide_known(text, further_secrets)), values)

        return change_events(events, mask)

    def fill_in(self, value: JsonValue) -> JsonValue:
        """Return a recorded answer with the values of this machine, session and day."""
        values = self._values()

        def fill(text: str) -> str:
            if "<<" in text:
                for name, each in values.items():
                    text = text.replace(_mark(name), each)
            return text

        return map_strings(value, fill)

    def _values(self) -> Mapping[str, str]:
        # The longest first: a workspace may be inside the home directory.
        found = {**machine_values(), **self.known_values()}
        pairs = sorted(found.items(), key=lambda pair: len(pair[1]), reverse=True)
        return {name: each for name, each in pairs if len(each) >= MIN_VALUE_CHARACTERS}

    def _hide_known(self, text: str, further_secrets: Sequence[str]) -> str:
        for secret in sorted({*self.secrets, *further_secrets}, key=len, reverse=True):
            text = text.replace(secret, REDACTED)
        return text


def mask_values(text: str, values: Mapping[str, str]) -> str:
    """Return a text with a mark in place of each value that is not a part of a longer name.

    >>> mask_values("cd /tmp/a && ls /tmp/a/b /tmp/ab", {"workspace": "/tmp/a"})
    'cd <<workspace>> && ls <<workspace>>/b /tmp/ab'
    """
    for name, value in values.items():
        pieces = text.split(value)
        text = pieces[0]
        for piece in pieces[1:]:
            is_whole = not (piece[:1].isalnum() or piece[:1] in _PATH_CHARACTERS - {""})
            # A dot may also end a sentence.
            is_whole = is_whole or (piece[:1] == "." and not piece[1:2].isalnum())
            text += (_mark(name) if is_whole else value) + piece
    return text


def change_events(events: Sequence[JsonValue], change: Callable[[str], str]) -> list[JsonValue]:
    """Return events with changed texts, also where a changed text is split between events.

    Fragments of one text are found by their place in the events. Then the first one gets the whole
    changed text, and the others are empty.
    """
    fragments: dict[tuple[str, ...], list[str]] = {}
    for event in events:
        _visit(event, (), lambda place, text: fragments.setdefault(place, []).append(text))
    joined = {
        place: change("".join(texts))
        for place, texts in fragments.items()
        if len(texts) > 1 and change("".join(texts)) != "".join(map(change, texts))
    }
    shown = set[tuple[str, ...]]()

    def replace_fragment(place: tuple[str, ...], text: str) -> str:
        if place not in joined:
            return change(text)
        is_first = place not in shown
        shown.add(place)
        return joined[place] if is_first else ""

    return [_rebuild(event, (), replace_fragment) for event in events]


def _visit(
    value: JsonValue, place: tuple[str, ...], see: Callable[[tuple[str, ...], str], object]
) -> None:
    _rebuild(value, place, lambda found, text: (see(found, text), text)[1])


def _rebuild(
    value: JsonValue, place: tuple[str, ...], change: Callable[[tuple[str, ...], str], str]
) -> JsonValue:
    match value:
        case str():
            return change(place, value)
        case list():
            return [
                # The place of a fragment in its list may be given by its own index.
                _rebuild(
                    each, place if "index" in as_object(each) else (*place, str(number)), change
                )
                for number, each in enumerate(value)
            ]
        case dict():
            own = (f"{name}={value[name]}" for name in _PLACE_FIELDS if name in value)
            place = (*place, *own)
            return {
                # Names are no fragments: two events of a kind have the same.
                name: each if name in _PLACE_FIELDS else _rebuild(each, (*place, name), change)
                for name, each in value.items()
            }
        case _:
            return value


def _mark(name: str) -> str:
    return f"<<{name}>>"

"""The settings that hold, as rows that may be shown: no secret leaves this module."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pydantic import BaseModel, JsonValue, SecretStr
from rich.table import Table
from rich.text import Text

from acp_server.cli.screen import Indented, Screen, printable
from acp_server.redaction import HIDDEN, without_secrets
from acp_server.settings import Configuration, sources

UNFOLDED_COLUMNS = 10_000
"""Wider than any row: in a pipe each is one line."""


@dataclass(frozen=True, slots=True)
class SettingRow:
    """A setting, its value as it may be shown, where that came from, and where to change it."""

    name: str
    value: JsonValue
    origin: str
    option: str
    variable: str
    key: str

    @property
    def text(self) -> str:
        """The value as a person reads it."""
        if self.value is None:
            return "none"
        is_word = isinstance(self.value, str) and self.value != ""
        return str(self.value) if is_word else json.dumps(self.value)

    @property
    def told_origin(self) -> str:
        """Where the value came from, with the name of the variable or of the option."""
        names = {"environment": self.variable, "option": self.option}
        return " ".join((self.origin, names.get(self.origin, ""))).strip()


def setting_rows(configuration: Configuration) -> Iterator[SettingRow]:
    """Return the settings that hold."""
    for name, source in sources().items():
        value = shown(getattr(configuration.settings, name))
        origin = configuration.origins[name]
        yield SettingRow(name, value, origin, source.option, source.variable, source.key)


def shown(value: object) -> JsonValue:
    """Return a value as it may be shown, as JSON."""
    match value:
        case None | bool() | int() | float():
            return value
        case SecretStr():
            return HIDDEN
        case str() | Path():
            return without_secrets(str(value))
        case BaseModel():
            return {name: shown(getattr(value, name)) for name in type(value).model_fields}
        case Mapping():
            entries = cast("Mapping[str, object]", value)
            return {name: shown(entry) for name, entry in entries.items()}
        case tuple():
            return _shown_words([shown(each) for each in cast("tuple[object, ...]", value)])
        case _:
            raise TypeError(type(value))


def _shown_words(words: Sequence[JsonValue]) -> JsonValue:
    """Return words of which one may be a secret because of the flag before it."""
    pairs = zip(("", *words), words, strict=False)
    return [HIDDEN if _is_hidden_behind(flag, word) else word for flag, word in pairs]


def _is_hidden_behind(flag: JsonValue, word: JsonValue) -> bool:
    is_flag = isinstance(flag, str) and flag.startswith("-") and isinstance(word, str)
    return is_flag and without_secrets(f"{flag} {word}").endswith(f" {HIDDEN}")


def known_secrets(value: object) -> Iterator[str]:
    """Return every secret in a value, however deep."""
    match value:
        case SecretStr():
            yield value.get_secret_value()
        case BaseModel():
            for name in type(value).model_fields:
                yield from known_secrets(getattr(value, name))
        case Mapping():
            for entry in cast("Mapping[str, object]", value).values():
                yield from known_secrets(entry)
        case _:
            return


def print_rows(screen: Screen, rows: Sequence[SettingRow]) -> None:
    """Print settings, their values and where these came from."""
    table = Table(box=None, padding=(0, 3, 0, 0), show_edge=False, header_style="quiet")
    table.add_column("setting", no_wrap=True)
    table.add_column("value", overflow="fold")
    table.add_column("from", overflow="fold")
    for row in rows:
        cells = (row.key or row.variable or row.name, row.text, row.told_origin)
        styles = ("", "title" if row.origin != "default" else "quiet", "quiet")
        texts = (Text(printable(c), style=s) for c, s in zip(cells, styles, strict=True))
        table.add_row(*texts)
    columns = screen.width
    screen.width = columns if screen.is_terminal else UNFOLDED_COLUMNS
    screen.print(Indented(table), end="")
    screen.width = columns

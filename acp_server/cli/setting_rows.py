"""The settings in effect as rows for display; secrets are removed here."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pydantic import BaseModel, JsonValue, SecretStr
from rich.table import Table
from rich.text import Text

from acp_server.cli.screen import Indented, TerminalScreen, printable
from acp_server.config.settings import Configuration
from acp_server.config.table import setting_sources, setting_values
from acp_server.text.redaction import REDACTED, redact_secrets

PIPE_COLUMNS = 10_000
"""Table width in a pipe: wider than any row, so that each setting is one line."""


@dataclass(frozen=True, slots=True)
class SettingRow:
    """A setting with its displayable value, its origin, and the names to change it by."""

    name: str
    value: JsonValue
    origin: str
    option: str
    variable: str
    key: str

    @property
    def text(self) -> str:
        """The value as text for people."""
        if self.value is None:
            return "none"
        is_plain_text = isinstance(self.value, str) and self.value != ""
        return str(self.value) if is_plain_text else json.dumps(self.value)

    @property
    def origin_text(self) -> str:
        """Origin of the value, with the name of the variable or option."""
        names = {"environment": self.variable, "option": self.option}
        return " ".join((self.origin, names.get(self.origin, ""))).strip()


def setting_rows(configuration: Configuration) -> Iterator[SettingRow]:
    """Yield a row for each setting."""
    values = setting_values(configuration.settings)
    for name, source in setting_sources().items():
        value = displayable(values[name])
        origin = configuration.origins[name]
        yield SettingRow(name, value, origin, source.option, source.variable, source.key)


def changed_rows(rows: Sequence[SettingRow]) -> list[SettingRow]:
    """Return the rows of settings that something other than a default has set."""
    return [row for row in rows if row.origin != "default"]


def displayable(value: object) -> JsonValue:
    """Return a value as JSON with all secrets hidden.

    Raises:
        TypeError: The value has a type that settings never have.
    """
    match value:
        case None | bool() | int() | float():
            return value
        case SecretStr():
            return REDACTED
        case str() | Path():
            return redact_secrets(str(value))
        case BaseModel():
            return {name: displayable(getattr(value, name)) for name in type(value).model_fields}
        case Mapping():
            entries = cast("Mapping[str, object]", value)
            return {name: displayable(entry) for name, entry in entries.items()}
        case tuple():
            words = [displayable(each) for each in cast("tuple[object, ...]", value)]
            # Words that follow a flag for a secret, such as `--token`, are hidden too.
            pairs = zip(("", *words), words, strict=False)
            return [REDACTED if _is_secret_after(flag, word) else word for flag, word in pairs]
        case _:
            raise TypeError(type(value))


def _is_secret_after(flag: JsonValue, word: JsonValue) -> bool:
    is_flag = isinstance(flag, str) and flag.startswith("-") and isinstance(word, str)
    return is_flag and redact_secrets(f"{flag} {word}").endswith(f" {REDACTED}")


def iter_secrets(value: object) -> Iterator[str]:
    """Yield every secret in a nested value."""
    match value:
        case SecretStr():
            yield value.get_secret_value()
        case BaseModel():
            for name in type(value).model_fields:
                yield from iter_secrets(getattr(value, name))
        case Mapping():
            for entry in cast("Mapping[str, object]", value).values():
                yield from iter_secrets(entry)
        case _:
            return


def print_rows(screen: TerminalScreen, rows: Sequence[SettingRow]) -> None:
    """Print a table of settings, values and origins."""
    table = Table(box=None, padding=(0, 3, 0, 0), show_edge=False, header_style="quiet")
    table.add_column("setting", no_wrap=True)
    table.add_column("value", overflow="fold")
    table.add_column("from", overflow="fold")
    for row in rows:
        cells = (row.key or row.variable or row.name, row.text, row.origin_text)
        styles = ("", "title" if row.origin != "default" else "quiet", "quiet")
        texts = (Text(printable(c), style=s) for c, s in zip(cells, styles, strict=True))
        table.add_row(*texts)
    columns = screen.width
    screen.width = columns if screen.is_terminal else PIPE_COLUMNS
    screen.print(Indented(table), end="")
    screen.width = columns

"""Writes variables to HERMES_HOME/.env: whole or not at all, readable by the user only.

Everything else in the file stays as it is.
"""

import re
from io import StringIO
from pathlib import Path

from dotenv.parser import parse_stream

from skills_store.atomic import write_atomically
from skills_store.locks import locked

PRIVATE_MODE = 0o600
MAX_VALUE_CHARACTERS = 20_000
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9_./:@%+=,-]+")


def write_variable(home: Path, name: str, value: str) -> None:
    """Set a variable in the .env file of a home. Blocks.

    Raises:
        ValueError: the name is no variable's, or the value is empty, too long or several lines.
        OSError: the file cannot be read or written; it is unchanged.
    """
    if not _NAME.fullmatch(name):
        message = f"{name!r} is not the name of a variable"
        raise ValueError(message)
    if not value or len(value) > MAX_VALUE_CHARACTERS or not value.isprintable():
        message = "the value is empty, too long, or holds line breaks or control characters"
        raise ValueError(message)
    own = home / "acp"
    own.mkdir(mode=0o700, parents=True, exist_ok=True)
    with locked(own / "dotenv"):
        # The file itself, also if `.env` is a link: else the link would be replaced.
        file = (home / ".env").resolve()
        text = file.read_text("utf-8") if file.exists() else ""
        write_atomically(file, _with_variable(text, name, value).encode(), PRIVATE_MODE)


def _with_variable(text: str, name: str, value: str) -> str:
    """Return the text of a .env file with a variable set, in place if it is there."""
    line = f"{name}={_quote(value)}\n"
    parts: list[str] = []
    is_written = False
    for binding in parse_stream(StringIO(text)):
        if binding.error or binding.key != name:
            parts.append(binding.original.string)
        elif not is_written:  # the last one would count, so later ones are left out
            is_written = True
            parts.append(line)
    before = "".join(parts)
    if is_written:
        return before
    separator = "" if not before or before.endswith("\n") else "\n"
    return f"{before}{separator}{line}"


def _quote(value: str) -> str:
    """Return a value as the .env format has it."""
    if _PLAIN_VALUE.fullmatch(value):
        return value
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"

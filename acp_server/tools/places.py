"""Paths as the user and the model are shown them, and as the gate judges them."""

from pathlib import Path

from acp_server.permissions.effects import Target
from acp_server.tools.files.paths import Place


def shown(path: Path, root: Path) -> str:
    """Return a path as it is shown: from the session's folder on, if it lies there."""
    name = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
    return printable(name)


def printable(text: str) -> str:
    """Return a text on one line, what cannot be seen or turns it around written as escapes."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def target_of(place: Place) -> Target:
    """Return a place as the gate judges it."""
    return Target(place.path, place.real, place.is_inside, place.stands)

"""Formats paths for display, and converts them for the permission gate."""

from pathlib import Path

from acp_server.permissions.effects import FileTarget
from acp_server.tools.files.paths import ResolvedPath


def display_path(path: Path, root: Path) -> str:
    """Return a path for display: relative to `root` if it is inside, else absolute."""
    name = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
    return escape_unprintable(name)


def escape_unprintable(text: str) -> str:
    """Return a text on one line, with every unprintable character escaped.

    Security: newlines and bidirectional control characters in a file name could make a permission
    question look as if it were about another file.
    """
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def target_for(resolved: ResolvedPath) -> FileTarget:
    """Return a path in the form that the permission gate judges."""
    return FileTarget(resolved.path, resolved.real, resolved.is_in_workspace, resolved.link_path)

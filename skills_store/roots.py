"""Where skills are kept, in the order in which a name is looked for. Opens no file.

Whether a workspace is trusted, and so may bring skills, is the caller's to say.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from skills_store.skill import Root

WORKSPACE_FOLDERS = (".agents/skills", ".hermes/skills", ".claude/skills")


@dataclass(frozen=True, slots=True)
class Places:
    """The folders that skills may come from. All absolute."""

    hermes_home: Path
    user_home: Path
    bundled: Path
    """The skills that came with the program."""
    workspace: Path | None = None
    """Of a workspace that is trusted."""
    external: tuple[Path, ...] = ()
    """Folders that the user named; they are only read."""


def roots_of(places: Places) -> tuple[Root, ...]:
    """Return the roots, first the one that wins; a folder that is named twice counts once."""
    unique: dict[str, Root] = {}
    for root in (*_roots(places), *plugin_roots(places.hermes_home / "plugins")):
        unique.setdefault(os.path.realpath(root.path), root)
    return tuple(unique.values())


def plugin_roots(folder: Path) -> tuple[Root, ...]:
    """Return the roots of the plugins in a folder, by name."""
    try:
        names: Sequence[str] = sorted(entry.name for entry in folder.iterdir() if entry.is_dir())
    except OSError:
        return ()
    return tuple(
        Root("plugin", folder / name / "skills", plugin=name)
        for name in names
        if name.isprintable() and ":" not in name
    )


def _roots(places: Places) -> Iterator[Root]:
    if places.workspace is not None:
        for name in WORKSPACE_FOLDERS:
            yield Root("workspace", places.workspace / name, is_writable=True)
    yield Root("home", places.hermes_home / "skills", is_writable=True)
    yield Root("agents", places.user_home / ".agents" / "skills", is_writable=True)
    for path in places.external:
        yield Root("external", path)
    yield Root("bundled", places.bundled)

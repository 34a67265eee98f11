"""Skill roots in lookup order. Opens no file.

The caller decides whether a workspace is trusted and so may provide skills.
"""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from skills_store.skill import SkillRoot

WORKSPACE_FOLDERS = (".agents/skills", ".hermes/skills", ".claude/skills")


@dataclass(frozen=True, slots=True)
class SkillLocations:
    """Directories that may contain skills. All paths are absolute."""

    hermes_home: Path
    user_home: Path
    bundled: Path
    """Skills shipped with the program."""
    workspace: Path | None = None
    """Only set for a trusted workspace."""
    external: tuple[Path, ...] = ()
    """Read-only directories from the user's settings."""


def resolve_roots(locations: SkillLocations) -> tuple[SkillRoot, ...]:
    """Return the roots, highest priority first; a directory listed twice counts once."""
    unique: dict[str, SkillRoot] = {}
    for root in (*_ordered_roots(locations), *plugin_roots(locations.hermes_home / "plugins")):
        unique.setdefault(os.path.realpath(root.path), root)
    return tuple(unique.values())


def plugin_roots(folder: Path) -> tuple[SkillRoot, ...]:
    """Return the roots of the plugins in a directory, by name."""
    try:
        names: Sequence[str] = sorted(entry.name for entry in folder.iterdir() if entry.is_dir())
    except OSError:
        return ()
    return tuple(
        SkillRoot("plugin", folder / name / "skills", plugin=name)
        for name in names
        if name.isprintable() and ":" not in name
    )


def _ordered_roots(locations: SkillLocations) -> Iterator[SkillRoot]:
    if locations.workspace is not None:
        for name in WORKSPACE_FOLDERS:
            yield SkillRoot("workspace", locations.workspace / name, is_writable=True)
    yield SkillRoot("home", locations.hermes_home / "skills", is_writable=True)
    yield SkillRoot("agents", locations.user_home / ".agents" / "skills", is_writable=True)
    for path in locations.external:
        yield SkillRoot("external", path)
    yield SkillRoot("bundled", locations.bundled)

"""Skill roots in lookup order. Opens no file.

The caller decides whether a workspace is trusted and so may provide skills.
"""

import os
from collections.abc import Sequence
from pathlib import Path

from skills_store.skill import SkillRoot

WORKSPACE_FOLDERS = (".agents/skills", ".hermes/skills", ".claude/skills")


def resolve_roots(
    hermes_home: Path,
    user_home: Path,
    bundled: Path,
    workspace: Path | None = None,
    external: Sequence[Path] = (),
) -> tuple[SkillRoot, ...]:
    """Return the roots, highest priority first; a directory listed twice counts once.

    All paths are absolute. `bundled` are the skills shipped with the program, `external` the
    read-only directories from the user's settings; `workspace` is only set if it is trusted.
    """
    workspace_folders = [workspace / name for name in WORKSPACE_FOLDERS] if workspace else []
    agents_folder = user_home / ".agents" / "skills"
    ordered = (
        *(SkillRoot("workspace", path, is_writable=True) for path in workspace_folders),
        SkillRoot("home", hermes_home / "skills", is_writable=True),
        SkillRoot("agents", agents_folder, is_writable=True),
        *(SkillRoot("external", path) for path in external),
        SkillRoot("bundled", bundled),
        *plugin_roots(hermes_home / "plugins"),
    )
    unique: dict[str, SkillRoot] = {}
    for root in ordered:
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

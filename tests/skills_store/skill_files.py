"""Skill files for tests that read them."""

import os
from pathlib import Path

from skills_store.library import SkillLibrary
from skills_store.skill import SkillRoot

LONG_AGO_SECONDS = 1_700_000_000


def skill_text(
    name: str, description: str = "Use it.", fields: str = "", body: str = "1. Do.\n"
) -> str:
    """Return a SKILL.md; `fields` are further lines of its frontmatter."""
    more = f"{fields}\n" if fields else ""
    return f"---\nname: {name}\ndescription: {description}\n{more}---\n\n{body}"


def write_skill(folder: Path, description: str = "Use it.", fields: str = "") -> Path:
    """Write a skill named like its directory; return the directory."""
    folder.mkdir(parents=True, exist_ok=True)
    text = skill_text(folder.name, description, fields)
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    return folder


def write_file(path: Path, text: str = "text\n") -> Path:
    """Write a file and create its parent directories."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def make_files_old(folder: Path) -> None:
    """Give all files an old modification time: very recent changes are not cached."""
    for path in (folder, *folder.rglob("*")):
        os.utime(path, (LONG_AGO_SECONDS, LONG_AGO_SECONDS))


def home_root(path: Path) -> SkillRoot:
    """Return a directory as the user's own skill root."""
    return SkillRoot("home", path, is_writable=True)


def make_library(*paths: Path) -> SkillLibrary:
    """Return a library of one or several roots, without a snapshot on disk."""
    roots = [home_root(path) for path in paths]
    return SkillLibrary(lambda: roots)

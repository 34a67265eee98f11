"""Skills on disk, for tests that read them."""

import os
from pathlib import Path

from skills_store import Library, Root

LONG_AGO_SECONDS = 1_700_000_000


def skill_text(
    name: str, description: str = "Use it.", fields: str = "", body: str = "1. Do.\n"
) -> str:
    """Return a SKILL.md; `fields` are further lines of its frontmatter."""
    more = f"{fields}\n" if fields else ""
    return f"---\nname: {name}\ndescription: {description}\n{more}---\n\n{body}"


def write_skill(folder: Path, description: str = "Use it.", fields: str = "") -> Path:
    """Write the skill of a folder, which names it; return the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    text = skill_text(folder.name, description, fields)
    (folder / "SKILL.md").write_text(text, encoding="utf-8")
    return folder


def write_file(path: Path, text: str = "text\n") -> Path:
    """Write a file, and the folders it is in."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def settle(folder: Path) -> None:
    """Make all below a folder look old: what changed this moment is not believed to stay."""
    for path in (folder, *folder.rglob("*")):
        os.utime(path, (LONG_AGO_SECONDS, LONG_AGO_SECONDS))


def home_root(path: Path) -> Root:
    """Return a folder as the user's own root."""
    return Root("home", path, is_writable=True)


def library_of(*paths: Path) -> Library:
    """Return a library of one root or several, which keeps nothing on disk."""
    roots = [home_root(path) for path in paths]
    return Library(lambda: roots)

"""The project's own instructions, found in the session's folder.

First slice of the search: `.hermes.md`, else `HERMES.md`, else `AGENTS.md`, else `agents.md`, in
the folder itself.
"""

import stat
from pathlib import Path

from prompt_engine.inputs import ContextFile

NAMES = (".hermes.md", "HERMES.md", "AGENTS.md", "agents.md")
MAX_CHARACTERS = 20_000
HEAD_SHARE = 0.7
TAIL_SHARE = 0.2
READ_BYTES = 4 * 1024 * 1024


def find_context_files(folder: Path) -> tuple[ContextFile, ...]:
    """Return the first kind of instructions that yields text; nothing outside the folder is read.

    A file that cannot be read, is no regular file or is not UTF-8 counts as absent.
    """
    for name in NAMES:
        text = _read(folder, name)
        if text:
            return (ContextFile(name, truncated(text, name), len(text)),)
    return ()


def truncated(text: str, name: str, limit: int = MAX_CHARACTERS) -> str:
    """Return the text, or its head and tail with a marker that says how to see the rest."""
    if len(text) <= limit:
        return text
    head, tail = text[: int(limit * HEAD_SHARE)], text[-int(limit * TAIL_SHARE) :]
    kept = len(head) + len(tail)
    marker = f"[… {kept:,} of {len(text):,} characters are shown; read {name} for the rest …]"
    return f"{head}\n\n{marker}\n\n{tail}"


def _read(folder: Path, name: str) -> str:
    try:
        path = (folder / name).resolve(strict=True)
        if not path.is_relative_to(folder.resolve()) or not stat.S_ISREG(path.stat().st_mode):
            return ""
        with path.open("rb") as file:
            raw = file.read(READ_BYTES)
        return _without_frontmatter(raw.decode("utf-8-sig")).strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _without_frontmatter(text: str) -> str:
    """Return the text behind a YAML block between two lines of dashes at its very beginning."""
    if not text.startswith("---\n"):
        return text
    end = text.find("\n---\n", 3)
    return text[end + 5 :] if end >= 0 else text

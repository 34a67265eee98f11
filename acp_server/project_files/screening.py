"""Scan of a project's Markdown file before its text may reach the model."""

from collections.abc import Callable
from pathlib import Path

from acp_server.project_files.places import MarkdownText
from prompt_engine.threats import scan
from prompt_engine.trust import blocked_line, sha256_of

IsTextTrusted = Callable[[Path, str], bool]
"""Returns whether the user allows a blocked text, by its resolved path and SHA-256."""


def find_block(path: Path, text: MarkdownText, is_text_trusted: IsTextTrusted) -> str | None:
    """Return why a text must not be shown to the model, in square brackets; None if it may.

    It blocks.
    """
    found = scan(text.whole, "context")
    if not found or is_text_trusted(path.resolve(), sha256_of(text.raw)):
        return None
    return blocked_line(str(path), found)

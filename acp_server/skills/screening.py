"""Keeps texts of skills with injected instructions away from the model."""

import shlex
from pathlib import Path

from prompt_engine.threats import scan
from prompt_engine.trust import TrustCheck, blocked_line, sha256_of
from skills_store.errors import SkillError

_BULLET = "  - "


class BlockedSkillError(SkillError):
    """A skill's text contains injected instructions and must not reach the model."""

    def __init__(self, file: Path, notice: str) -> None:
        super().__init__(
            f"{notice} Tell the user, who can read {file} and allow exactly this text with "
            f"`acp-server context trust {shlex.quote(str(file))}`."
        )


def refuse_threats(file: Path, text: str, is_trusted: TrustCheck) -> None:
    """Refuse a file's text that contains injected instructions. Blocks.

    Raises:
        BlockedSkillError: it does, and the user does not trust exactly this content.
    """
    found = scan(text, "context")
    if not found:
        return
    # The digest is read from the file, so trust in an older version does not apply.
    try:
        digest = sha256_of(file.read_bytes())
    except OSError:  # it was deleted: no digest matches
        digest = ""
    if not is_trusted(file.resolve(), digest):
        raise BlockedSkillError(file, blocked_line(str(file), found))


def screen_index(index: str) -> str:
    """Return an index without the descriptions that must not reach the model."""
    blocked_lines = {threat.line for threat in scan(index, "context")}
    if not blocked_lines:
        return index
    lines = index.splitlines()
    return "\n".join(
        line.partition(": ")[0] if number in blocked_lines and line.startswith(_BULLET) else line
        for number, line in enumerate(lines, 1)
    )

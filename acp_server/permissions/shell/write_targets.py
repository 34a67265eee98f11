"""Writes of well-known commands: shown in the permission question, never used for a decision."""

from collections.abc import Sequence

from acp_server.permissions.shell.access import AccessRecorder
from acp_server.permissions.shell.findings import UndecidableCommand
from acp_server.permissions.shell.words import Word

_WRITE_ALL_OPERANDS = frozenset(
    ["rm", "rmdir", "touch", "mkdir", "tee", "truncate", "shred", "unlink", "mkfifo"]
)
_WRITE_LAST_OPERAND = frozenset({"ln", "install", "rsync"})
_WRITE_AFTER_FIRST = frozenset({"chmod", "chown", "chgrp"})


def record_changes(words: Sequence[Word], access: AccessRecorder) -> None:
    """Record the paths that a command copies, removes or changes, as far as its words show."""
    name = words[0].text.rpartition("/")[2]
    operands = [word for word in words[1:] if not word.text.startswith("-")]
    if name in _WRITE_ALL_OPERANDS or name == "mv":
        _record_writes(operands, access)
    elif name in _WRITE_AFTER_FIRST:
        _record_writes(operands[1:], access)
    elif name in _WRITE_LAST_OPERAND or name == "cp":
        _record_writes(operands[-1:], access)
    elif name == "sed" and any(word.text.startswith(("-i", "--in-place")) for word in words):
        _record_writes(operands[1:], access)
    elif name == "dd":
        for word in operands:
            key, _, path = word.text.partition("=")
            if word.is_literal and key == "of":
                access.record_write(Word(path))
            elif word.is_literal and key == "if":
                access.record_read(Word(path))
    if name in {"cp", "mv", "install", "rsync"}:
        _record_reads(operands[:-1], access)


def _record_writes(words: Sequence[Word], access: AccessRecorder) -> None:
    for word in words:
        access.record_write(word)


def _record_reads(words: Sequence[Word], access: AccessRecorder) -> None:
    for word in words:
        try:
            access.record_read(word)
        except UndecidableCommand:  # a changing command asks in any case
            continue

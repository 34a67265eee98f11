"""Writes of well-known commands: shown in the permission question, never used for a decision."""

from collections.abc import Sequence
from contextlib import suppress

from acp_server.permissions.shell.access import AccessRecorder
from acp_server.permissions.shell.findings import UndecidableCommand
from acp_server.permissions.shell.words import Word

_WRITE_ALL_OPERANDS = frozenset(
    ["rm", "rmdir", "touch", "mkdir", "tee", "truncate", "shred", "unlink", "mkfifo", "mv"]
)
_WRITE_LAST_OPERAND = frozenset({"ln", "cp", "install", "rsync"})
_WRITE_AFTER_FIRST = frozenset({"chmod", "chown", "chgrp"})
_READ_OTHER_OPERANDS = frozenset({"cp", "mv", "install", "rsync"})


def record_changes(words: Sequence[Word], access: AccessRecorder) -> None:
    """Record the paths that a command copies, removes or changes, as far as its words show."""
    name = words[0].text.rpartition("/")[2]
    operands = [word for word in words[1:] if not word.text.startswith("-")]
    written: Sequence[Word] = ()
    if name in _WRITE_ALL_OPERANDS:
        written = operands
    elif name in _WRITE_LAST_OPERAND:
        written = operands[-1:]
    elif name in _WRITE_AFTER_FIRST or (
        name == "sed" and any(word.text.startswith(("-i", "--in-place")) for word in words)
    ):
        written = operands[1:]
    elif name == "dd":
        for word in operands:
            key, _, path = word.text.partition("=")
            if word.is_literal and key == "of":
                access.record_write(Word(path))
            elif word.is_literal and key == "if":
                access.record_read(Word(path))
    for word in written:
        access.record_write(word)
    for word in operands[:-1] if name in _READ_OTHER_OPERANDS else ():
        with suppress(UndecidableCommand):  # a changing command asks in any case
            access.record_read(word)

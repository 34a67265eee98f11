"""Writes of well-known commands: shown in the permission question, never used for a decision."""

from collections.abc import Sequence

from acp_server.permissions.shell.access import Access
from acp_server.permissions.shell.findings import Unclear
from acp_server.permissions.shell.words import Word

_ALL = frozenset(["rm", "rmdir", "touch", "mkdir", "tee", "truncate", "shred", "unlink", "mkfifo"])
_LAST = frozenset({"ln", "install", "rsync"})
_AFTER_FIRST = frozenset({"chmod", "chown", "chgrp"})


def put_down_changes(words: Sequence[Word], access: Access) -> None:
    """Record the paths that a command copies, removes or changes, as far as its words show."""
    name = words[0].text.rpartition("/")[2]
    operands = [word for word in words[1:] if not word.text.startswith("-")]
    if name in _ALL or name == "mv":
        _write(operands, access)
    elif name in _AFTER_FIRST:
        _write(operands[1:], access)
    elif name in _LAST or name == "cp":
        _write(operands[-1:], access)
    elif name == "sed" and any(word.text.startswith(("-i", "--in-place")) for word in words):
        _write(operands[1:], access)
    elif name == "dd":
        _copy_blocks(operands, access)
    if name in {"cp", "mv", "install", "rsync"}:
        _read(operands[:-1], access)


def _write(words: Sequence[Word], access: Access) -> None:
    for word in words:
        access.write(word)


def _read(words: Sequence[Word], access: Access) -> None:
    for word in words:
        try:
            access.read(word)
        except Unclear:  # a changing command asks in any case
            continue


def _copy_blocks(words: Sequence[Word], access: Access) -> None:
    for word in words:
        key, _, path = word.text.partition("=")
        if word.is_literal and key == "of":
            access.write(Word(path))
        elif word.is_literal and key == "if":
            access.read(Word(path))

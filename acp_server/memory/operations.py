"""Changes of a store's entries. Pure; knows no files and no limits.

Identical entries count as one: a change that matches one of them changes all.
"""

from collections.abc import Sequence
from typing import Literal, assert_never

from acp_server.memory.errors import OperationError
from acp_server.startup.fast_dataclass import frozen

Action = Literal["add", "replace", "remove"]
Entries = tuple[str, ...]


@frozen
class Operation:
    """One change. `old_text` is a part of the entry that is meant, and of no other."""

    action: Action
    content: str = ""
    old_text: str = ""


@frozen
class Change:
    """Result of all operations: removed and added entries."""

    removed: Entries = ()
    added: Entries = ()


def change_between(before: Entries, after: Entries) -> Change:
    """Return the difference between two states of a store, ignoring the order of entries."""
    removed = tuple(entry for entry in before if entry not in after)
    return Change(removed, tuple(entry for entry in after if entry not in before))


def carried_out(entries: Entries, operations: Sequence[Operation]) -> Entries:
    """Return the entries after all operations, applied in order.

    Raises:
        OperationError: one of them cannot be applied; then none is.
    """
    if not operations:
        raise OperationError("incomplete", "there is nothing to do: name an action, or operations")
    after = entries
    for number, operation in enumerate(operations, 1):
        try:
            after = _after(after, operation)
        except OperationError as error:
            place = f"operation {number}: " if len(operations) > 1 else ""
            raise OperationError(error.kind, place + error.reason, error.matches) from None
    return after


def _after(entries: Entries, operation: Operation) -> Entries:
    content = operation.content
    if operation.action != "remove" and not content:
        raise OperationError("incomplete", f"{operation.action} needs content")
    match operation.action:
        case "add":
            return entries if content in entries else (*entries, content)
        case "replace":
            return _replaced(entries, _meant(entries, operation), content)
        case "remove":
            meant = _meant(entries, operation)
            return tuple(entry for entry in entries if entry != meant)
        case _:
            assert_never(operation.action)


def _replaced(entries: Entries, old: str, new: str) -> Entries:
    """Put the new entry at the place of the old one, unless it exists already."""
    kept = [entry for entry in entries if entry != old]
    if new not in kept:
        kept.insert(entries.index(old), new)
    return tuple(kept)


def _meant(entries: Entries, operation: Operation) -> str:
    """Return the only entry that contains the old text."""
    old_text = operation.old_text
    if not old_text:
        reason = f"{operation.action} needs old_text: words that only the entry meant contains"
        raise OperationError("incomplete", reason)
    matches = list(dict.fromkeys(entry for entry in entries if old_text in entry))
    if not matches:
        raise OperationError("no match", f"no entry contains {old_text!r}")
    if len(matches) > 1:
        reason = f"{len(matches)} entries contain {old_text!r}: give more of the one you mean"
        raise OperationError("several matches", reason, tuple(matches))
    return matches[0]

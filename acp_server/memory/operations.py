"""Changes of a store's entries. Pure; knows no files and no limits.

Identical entries count as one: a change that matches one of them changes all.
"""

from collections.abc import Sequence
from typing import Literal, assert_never

from acp_server.memory.errors import EntryOperationError
from acp_server.startup.fast_dataclass import frozen_dataclass

OperationAction = Literal["add", "replace", "remove"]
Entries = tuple[str, ...]


@frozen_dataclass
class EntryOperation:
    """One change. `old_text` is a part of the entry that is meant, and of no other."""

    action: OperationAction
    content: str = ""
    old_text: str = ""


@frozen_dataclass
class MemoryChange:
    """Result of all operations: removed and added entries."""

    removed: Entries = ()
    added: Entries = ()


def diff_entries(before: Entries, after: Entries) -> MemoryChange:
    """Return the difference between two states of a store, ignoring the order of entries."""
    removed = tuple(entry for entry in before if entry not in after)
    return MemoryChange(removed, tuple(entry for entry in after if entry not in before))


def apply_operations(entries: Entries, operations: Sequence[EntryOperation]) -> Entries:
    """Return the entries after all operations, applied in order.

    Raises:
        EntryOperationError: one of them cannot be applied; then none is.
    """
    if not operations:
        raise EntryOperationError(
            "incomplete", "there is nothing to do: name an action, or operations"
        )
    after = entries
    for number, operation in enumerate(operations, 1):
        try:
            after = _apply(after, operation)
        except EntryOperationError as error:
            prefix = f"operation {number}: " if len(operations) > 1 else ""
            raise EntryOperationError(error.kind, prefix + error.reason, error.matches) from None
    return after


def _apply(entries: Entries, operation: EntryOperation) -> Entries:
    content = operation.content
    if operation.action != "remove" and not content:
        raise EntryOperationError("incomplete", f"{operation.action} needs content")
    match operation.action:
        case "add":
            return entries if content in entries else (*entries, content)
        case "replace":
            old = _find_entry(entries, operation)
            others = [entry for entry in entries if entry != old]
            if content not in others:  # it takes the place of the old one
                others.insert(entries.index(old), content)
            return tuple(others)
        case "remove":
            target = _find_entry(entries, operation)
            return tuple(entry for entry in entries if entry != target)
        case _:
            assert_never(operation.action)


def _find_entry(entries: Entries, operation: EntryOperation) -> str:
    """Return the only entry that contains the old text."""
    old_text = operation.old_text
    if not old_text:
        reason = f"{operation.action} needs old_text: words that only the entry meant contains"
        raise EntryOperationError("incomplete", reason)
    matches = list(dict.fromkeys(entry for entry in entries if old_text in entry))
    if not matches:
        raise EntryOperationError("no match", f"no entry contains {old_text!r}")
    if len(matches) > 1:
        reason = f"{len(matches)} entries contain {old_text!r}: give more of the one you mean"
        raise EntryOperationError("several matches", reason, tuple(matches))
    return matches[0]

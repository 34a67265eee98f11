"""Which entries of a history are replayed after rewinds, and in which order. Pure."""

from collections.abc import Sequence

from acp_server.session.ports.archive import RemovedMessages
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.conversation import UserMessage

EntryRange = tuple[int, int]
"""The numbers of the first and the last entry."""


@frozen_dataclass
class Rewind:
    """A rewind of the conversation, as its entry says."""

    entry: int
    checkpoint: str
    """Of the rewind itself: a later one with the same reverses it."""
    target: str
    """The checkpoint of the first prompt that it removed; empty if it removed none."""


def target_of(record: RemovedMessages) -> str:
    """Return the checkpoint of the first removed prompt, which earlier versions did not record."""
    if record.target or not record.messages:
        return record.target
    first = record.messages[0]
    return first.checkpoint if isinstance(first, UserMessage) else ""


def replayed_ranges(
    prompts: Sequence[tuple[int, str]], rewinds: Sequence[Rewind], last: int
) -> Sequence[EntryRange]:
    """Return the ranges of entries up to `last` that are replayed, in the order of the replay.

    `prompts` are the numbers and checkpoints of all prompts; those of old versions name none.
    Entries that were removed and brought back follow those in between.

    >>> prompts = [(0, "a"), (5, "b"), (11, "c")]
    >>> replayed_ranges(prompts, [Rewind(10, "r", "b")], 15)
    [(0, 4), (11, 15)]
    >>> replayed_ranges(prompts, [Rewind(10, "r", "b"), Rewind(14, "r", "")], 15)
    [(0, 4), (11, 13), (5, 9), (15, 15)]
    """
    remaining: list[EntryRange] = []
    removed: dict[str, list[EntryRange]] = {}
    first = 0
    for rewind in rewinds:
        if first < rewind.entry:
            remaining.append((first, rewind.entry - 1))
        first = rewind.entry + 1
        remaining += removed.pop(rewind.checkpoint, [])
        found = _find_prompt(remaining, prompts, rewind.target)
        if found is not None:
            place, entry = found
            start, end = remaining[place]
            removed[rewind.checkpoint] = [(entry, end), *remaining[place + 1 :]]
            remaining[place:] = [(start, entry - 1)] if start < entry else []
    if first <= last:
        remaining.append((first, last))
    return remaining


def _find_prompt(
    ranges: Sequence[EntryRange], prompts: Sequence[tuple[int, str]], checkpoint: str
) -> tuple[int, int] | None:
    """Return the index of the range with a prompt, and the prompt's number."""
    if not checkpoint:
        return None
    entries = [entry for entry, each in prompts if each == checkpoint]
    for place, (start, end) in enumerate(ranges):
        for entry in entries:
            if start <= entry <= end:
                return place, entry
    return None

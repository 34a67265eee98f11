"""All files of the workspace at one moment, and what a turn made of them. Pure but for the form.

A file that is there and not kept is known by its marks, so that it can be told whether it changed;
nothing is ever taken for new only because it was not kept.
"""

import json
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field
from typing import cast

from pydantic import JsonValue

from acp_server.checkpoints.errors import LostError
from acp_server.checkpoints.records import Change, State, state_as_json, state_from
from acp_server.frozen import frozen

Marks = tuple[int, ...]
"""What tells whether a file has changed without reading it: size, times, number."""
IGNORE_FILE = ".gitignore"
CLOCK_SLACK_SECONDS = 0.1
"""The times of files come from a coarser clock than ours."""


@frozen
class Unkept:
    """A file that is there and not kept, or a folder that was not looked through, and why."""

    reason: str
    marks: Marks


@frozen
class Manifest:
    """The files of the workspace at a moment, by absolute path."""

    taken_at: float
    """Seconds since 1970, when the looking began."""
    states: Mapping[str, State] = field(default_factory=dict[str, State])
    unkept: Mapping[str, Unkept] = field(default_factory=dict[str, Unkept])
    folders: frozenset[str] = frozenset()
    """Folders that are there and hold nothing that is kept; what lies below may be there or not."""
    faults: tuple[str, ...] = ()
    """What could not be looked through at all, in a sentence each."""
    ignored: frozenset[str] = frozenset()
    """Files that git ignores and nothing keeps; a folder stands for all that lies in it."""


Look = Callable[[str], tuple[Marks, float] | None]
"""Returns a file's marks and when it was last changed, made or moved; None if it is not there."""


def encoded(manifest: Manifest) -> bytes:
    """Return a manifest as bytes."""
    document: JsonValue = {
        "taken_at": manifest.taken_at,
        "states": {path: state_as_json(state) for path, state in manifest.states.items()},
        "unkept": {path: [each.reason, *each.marks] for path, each in manifest.unkept.items()},
        "folders": list(manifest.folders),
        "faults": list(manifest.faults),
        "ignored": list(manifest.ignored),
    }
    return zlib.compress(json.dumps(document).encode(), 1)


def decoded(data: bytes) -> Manifest:
    """Return the manifest that bytes are.

    Raises:
        LostError: they are none.
    """
    try:
        document = cast("dict[str, JsonValue]", json.loads(zlib.decompress(data)))
        states = cast("dict[str, JsonValue]", document["states"])
        unkept = cast("dict[str, list[JsonValue]]", document["unkept"])
        return Manifest(
            cast("float", document["taken_at"]),
            {path: state for path, value in states.items() if (state := state_from(value))},
            {path: _unkept(value) for path, value in unkept.items()},
            frozenset(cast("list[str]", document["folders"])),
            tuple(cast("list[str]", document["faults"])),
            frozenset(cast("list[str]", document.get("ignored", []))),
        )
    except (zlib.error, ValueError, KeyError, TypeError) as error:
        reason = f"the list of files cannot be read: {error}"
        raise LostError(reason) from error


def _unkept(value: list[JsonValue]) -> Unkept:
    reason, *marks = value
    return Unkept(str(reason), cast("Marks", tuple(marks)))


def changes_between(before: Manifest, after: Manifest, look: Look) -> Iterator[Change]:
    """Yield what has changed of what was kept."""
    paths = dict.fromkeys((*before.states, *after.states))
    known = {state.blob for state in before.states.values()}
    changed = {path for path in paths if before.states.get(path) != after.states.get(path)}
    rules_changed = any(path.rpartition("/")[2] == IGNORE_FILE for path in changed)
    for path in paths:
        old, new = before.states.get(path), after.states.get(path)
        if _is_within(path, before.unkept) or (old == new and path not in after.unkept):
            continue
        if old is None and not _is_new(path, new, known, before.taken_at, look):
            continue
        is_seen = not _is_within(path, after.unkept)
        is_certain = is_seen and not (old is None and rules_changed)
        yield Change(path, old, new, is_certain)


def _is_within(path: str, unkept: Mapping[str, Unkept]) -> bool:
    """Whether a file, or a folder that it lies in, was not kept."""
    return path in unkept or any(folder in unkept for folder in folders_above(path))


def _is_new(
    path: str, state: State | None, known: Collection[str], began_at: float, look: Look
) -> bool:
    """Whether a file came to be in the turn; one that was ignored until then did not.

    Moving a folder leaves the times of its files; but then their bytes are known.
    """
    if state is not None and state.blob in known:
        return True
    seen = look(path)
    return seen is None or seen[1] >= began_at - CLOCK_SLACK_SECONDS


def folders_made(before: Manifest, changes: Iterable[Change], top: str) -> Iterator[str]:
    """Yield the folders, below a root, that changes have made."""
    known = {folder for path in before.states for folder in folders_above(path)}
    for change in changes:
        above = folders_above(change.path) if change.before is None else ()
        for folder in above:
            held = folder in known or folder in before.folders or not folder.startswith(f"{top}/")
            if not held and before.folders.isdisjoint(folders_above(folder)):
                yield folder


def folders_above(path: str) -> Iterator[str]:
    """Yield the folders that a path lies in, the nearest first."""
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def lost_between(before: Manifest, look: Look) -> Iterator[tuple[str, str]]:
    """Yield files that were changed, or may have been, and not kept, with the reason."""
    for path, each in before.unkept.items():
        seen = look(path)
        if seen is None or not each.marks or seen[0] != each.marks:
            yield path, each.reason


def ignored_between(before: Manifest, after: Manifest, look: Look) -> Iterator[str]:
    """Yield files that git ignores, or folders of such, that came, went or were changed.

    What happened deeper in such a folder does not show.
    """
    for path in sorted(before.ignored | after.ignored):
        seen = look(path)
        if seen is None or seen[1] >= before.taken_at - CLOCK_SLACK_SECONDS:
            yield path

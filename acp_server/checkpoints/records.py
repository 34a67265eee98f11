"""Record of the changes of one turn, and its serialization. Knows files only by path."""

import json
from collections.abc import Mapping
from dataclasses import field
from typing import Literal, cast

from pydantic import JsonValue

from acp_server.checkpoints.errors import LostError
from acp_server.startup.fast_dataclass import frozen

VERSION = 1


@frozen
class State:
    """A file at one moment: name of its content, permission bits; of a symlink, its target.

    A missing file has no state.
    """

    kind: Literal["file", "link"]
    blob: str
    mode: int = 0


@frozen
class Change:
    """The change of one file in a turn. Paths are absolute."""

    path: str
    before: State | None
    after: State | None
    is_after_known: bool = True
    """Whether `after` is certain; if not, the current file may be the work of the user or another
    program."""


@frozen
class Edit:
    """A file that a tool has changed: its state before the edit, and the one last written."""

    path: str
    before: State | None
    after: State | None = None
    is_after_known: bool = False
    is_buffer: bool = False
    """Whether `before` was an unsaved text in the editor."""
    is_after_buffer: bool = False
    """Whether `after` is an unsaved text in the editor."""
    came_first: bool = True
    """Whether the turn had not run a command before."""


@frozen
class Origin:
    """The turn that a record belongs to."""

    session_id: str
    title: str
    started_at: float
    """Seconds since 1970."""
    position: int = 0
    """Index of its prompt in the conversation."""
    undoes: str = ""
    """Id of the record that it undoes, if it is an undo rather than a turn."""


@frozen
class Record:
    """Changes of one turn. Final once the record is closed."""

    id: str
    origin: Origin
    edits: tuple[Edit, ...] = ()
    changes: tuple[Change, ...] = ()
    unkept: Mapping[str, str] = field(default_factory=dict[str, str])
    """Files that were changed but not stored, with the reason; a sentence under an empty path."""
    folders: tuple[str, ...] = ()
    """Directories that the turn has created."""
    prompt_digest: str = ""
    is_closed: bool = False
    is_undone: bool = False


def encoded(record: Record) -> bytes:
    """Serialize a record."""
    origin = record.origin
    document: JsonValue = {
        "version": VERSION,
        "id": record.id,
        "origin": {
            "session_id": origin.session_id,
            "title": origin.title,
            "started_at": origin.started_at,
            "position": origin.position,
            "undoes": origin.undoes,
        },
        "edits": [_edit(each) for each in record.edits],
        "changes": [_change(each) for each in record.changes],
        "unkept": dict(record.unkept),
        "folders": list(record.folders),
        "prompt_digest": record.prompt_digest,
        "is_closed": record.is_closed,
        "is_undone": record.is_undone,
    }
    return json.dumps(document).encode()


def decoded(data: bytes) -> Record:
    """Deserialize a record.

    Raises:
        LostError: the data is not a record of this version.
    """
    try:
        document = json.loads(data)
        if document["version"] != VERSION:
            reason = "the record has an unsupported version"
            raise LostError(reason)
        return _record(document)
    except (ValueError, KeyError, TypeError) as error:
        reason = f"the record cannot be read: {error}"
        raise LostError(reason) from error


def state_as_json(state: State | None) -> JsonValue:
    """Return a state as a list; null for none."""
    return None if state is None else [state.kind, state.blob, state.mode]


def state_from(value: JsonValue) -> State | None:
    """Return the state that a list describes."""
    if value is None:
        return None
    kind, blob, mode = cast("tuple[Literal['file', 'link'], str, int]", value)
    return State(kind, blob, mode)


def _edit(edit: Edit) -> JsonValue:
    flags = [edit.is_after_known, edit.is_buffer, edit.is_after_buffer, edit.came_first]
    return [edit.path, state_as_json(edit.before), state_as_json(edit.after), *flags]


def _change(change: Change) -> JsonValue:
    before, after = state_as_json(change.before), state_as_json(change.after)
    return [change.path, before, after, change.is_after_known]


_Flags = tuple[bool, bool, bool, bool]


def _edit_from(value: list[JsonValue]) -> Edit:
    path, before, after, *flags = value
    known, buffer, after_buffer, first = cast("_Flags", tuple(flags))
    states = state_from(before), state_from(after)
    return Edit(str(path), *states, known, buffer, after_buffer, first)


def _change_from(value: list[JsonValue]) -> Change:
    path, before, after, is_known = value
    return Change(str(path), state_from(before), state_from(after), bool(is_known))


def _record(document: Mapping[str, JsonValue]) -> Record:
    origin = cast("Mapping[str, JsonValue]", document["origin"])
    return Record(
        id=str(document["id"]),
        origin=Origin(
            session_id=str(origin["session_id"]),
            title=str(origin["title"]),
            started_at=cast("float", origin["started_at"]),
            position=cast("int", origin["position"]),
            undoes=str(origin["undoes"]),
        ),
        edits=tuple(map(_edit_from, cast("list[list[JsonValue]]", document["edits"]))),
        changes=tuple(map(_change_from, cast("list[list[JsonValue]]", document["changes"]))),
        unkept=cast("Mapping[str, str]", document["unkept"]),
        folders=tuple(cast("list[str]", document["folders"])),
        prompt_digest=str(document["prompt_digest"]),
        is_closed=bool(document["is_closed"]),
        is_undone=bool(document["is_undone"]),
    )

"""Record of the changes of one turn, and its serialization. Knows files only by path."""

import json
from collections.abc import Mapping
from dataclasses import asdict, astuple, field, fields
from typing import Literal, cast

from pydantic import JsonValue

from acp_server.checkpoints.errors import CheckpointReadError
from acp_server.startup.fast_dataclass import frozen_dataclass

VERSION = 1


@frozen_dataclass
class FileVersion:
    """A file at one moment: name of its content, permission bits; of a symlink, its target.

    A missing file has no state.
    """

    kind: Literal["file", "link"]
    blob: str
    mode: int = 0


@frozen_dataclass
class RecordedChange:
    """The change of one file in a turn. Paths are absolute."""

    path: str
    before: FileVersion | None
    after: FileVersion | None
    is_after_known: bool = True
    """Whether `after` is certain; if not, the current file may be the work of the user or another
    program."""
    is_own: bool = True
    """Whether an edit of this very turn wrote `after`; if not, comparing all files has found it."""


@frozen_dataclass
class RecordedEdit:
    """A file that a tool has changed: its state before the edit, and the one last written."""

    path: str
    before: FileVersion | None
    after: FileVersion | None = None
    is_after_known: bool = False
    is_buffer: bool = False
    """Whether `before` was an unsaved text in the editor."""
    is_after_buffer: bool = False
    """Whether `after` is an unsaved text in the editor."""
    is_before_commands: bool = True
    """Whether the turn had not run a command before."""


@frozen_dataclass
class TurnOrigin:
    """The turn that a record belongs to."""

    session_id: str
    title: str
    started_at: float
    """Seconds since 1970."""
    undoes: str = ""
    """Id of the first turn that it undoes, if it is an undo rather than a turn."""
    session_title: str = ""
    process_id: int = 0
    """The server that runs the turn; 0 if unknown."""

    @property
    def label(self) -> str:
        """The turn and its session, for the user."""
        session = self.session_title or self.session_id
        return f"“{self.title}” in the session “{session}”"


@frozen_dataclass
class TurnRecord:
    """Changes of one turn. Final once the record is closed."""

    id: str
    origin: TurnOrigin
    edits: tuple[RecordedEdit, ...] = ()
    changes: tuple[RecordedChange, ...] = ()
    omitted: Mapping[str, str] = field(default_factory=dict[str, str])
    """Files that were changed but not stored, with the reason; a sentence under an empty path."""
    folders: tuple[str, ...] = ()
    """Directories that the turn has created."""
    is_closed: bool = False
    is_undone: bool = False
    undone_before: Mapping[str, bool] = field(default_factory=dict[str, bool])
    """Whether each of the turns that this undo concerns was undone before it, by id."""


def encode(record: TurnRecord) -> bytes:
    """Serialize a record."""
    # Edits and changes are lists of their fields, in the order of the classes.
    document: dict[str, object] = {
        "version": VERSION,
        "id": record.id,
        "origin": asdict(record.origin),
        "edits": [astuple(each) for each in record.edits],
        "changes": [astuple(each) for each in record.changes],
        "unkept": dict(record.omitted),
        "folders": record.folders,
        "is_closed": record.is_closed,
        "is_undone": record.is_undone,
        "undone_before": dict(record.undone_before),
    }
    return json.dumps(document).encode()


def decode(data: bytes) -> TurnRecord:
    """Deserialize a record.

    Raises:
        CheckpointReadError: the data is not a record of this version.
    """
    try:
        document = json.loads(data)
        if document["version"] != VERSION:
            reason = "the record has an unsupported version"
            raise CheckpointReadError(reason)
        return TurnRecord(
            id=document["id"],
            origin=_origin_from_json(document["origin"]),
            edits=tuple(
                RecordedEdit(path, version_from_json(before), version_from_json(after), *flags)
                for path, before, after, *flags in document["edits"]
            ),
            changes=tuple(
                RecordedChange(path, version_from_json(before), version_from_json(after), *flags)
                for path, before, after, *flags in document["changes"]
            ),
            omitted=document["unkept"],
            folders=tuple(document["folders"]),
            is_closed=document["is_closed"],
            is_undone=document["is_undone"],
            undone_before=document.get("undone_before", {}),
        )
    except (ValueError, KeyError, TypeError) as error:
        reason = f"the record cannot be read: {error}"
        raise CheckpointReadError(reason) from error


def _origin_from_json(members: dict[str, JsonValue]) -> TurnOrigin:
    """Return an origin; members of other versions are dropped."""
    known = {each.name for each in fields(TurnOrigin)}
    return TurnOrigin(**{name: value for name, value in members.items() if name in known})  # pyright: ignore[reportArgumentType]  checked by the type's users


def version_as_json(state: FileVersion | None) -> JsonValue:
    """Return a state as a list; null for none."""
    return None if state is None else [state.kind, state.blob, state.mode]


def version_from_json(value: JsonValue) -> FileVersion | None:
    """Return the state that a list describes."""
    if value is None:
        return None
    kind, blob, mode = cast("tuple[Literal['file', 'link'], str, int]", value)
    return FileVersion(kind, blob, mode)

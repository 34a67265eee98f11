"""Turns of other sessions in the same workspace, and which of them a file's content comes from.

Pure. Which turn wrote what is known for edits by tools. A command's changes are found by comparing
all files, so turns that overlap see each other's changes; then the content alone tells.
"""

from collections.abc import Iterable, Sequence

from acp_server.checkpoints.manifests import Manifest
from acp_server.checkpoints.records import FileVersion, TurnOrigin, TurnRecord
from acp_server.startup.fast_dataclass import frozen_dataclass


@frozen_dataclass
class OtherTurn:
    """A turn of another session."""

    record: TurnRecord
    before: Manifest | None = None
    """The files before its first command, if the turn is still running."""

    def has_left(self, path: str, content: FileVersion | None) -> bool:
        """Return whether the turn may have left this content at a path; None is no file."""
        record = self.record
        if record.is_undone:
            return False
        found = [(each.before, each.after) for each in record.changes if each.path == path]
        found += [(each.before, each.after) for each in record.edits if each.path == path]
        if any(old != new == content for old, new in found):
            return True
        return self.before is not None and self.before.states.get(path) != content


def find_writer(
    path: str, contents: Iterable[FileVersion | None], others: Sequence[OtherTurn]
) -> TurnOrigin | None:
    """Return the first of these turns that may have left one of these contents at a path."""
    found = (
        each.record.origin
        for content in contents
        for each in others
        if each.has_left(path, content)
    )
    return next(found, None)

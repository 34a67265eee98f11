"""Several turns of one session as one, to restore the state before the first. Pure."""

from collections.abc import Mapping, Sequence

from acp_server.checkpoints.records import FileVersion, RecordedChange, TurnRecord
from acp_server.startup.fast_dataclass import frozen_dataclass


@frozen_dataclass
class TurnRange:
    """Turns of one session, the newest first."""

    records: Sequence[TurnRecord]

    @property
    def changes(self) -> Sequence[RecordedChange]:
        """Each file's state before the first turn that changed it, and after the last."""
        merged: dict[str, RecordedChange] = {}
        for change in self._oldest_first():
            earlier = merged.get(change.path)
            if earlier is None:
                merged[change.path] = change
                continue
            is_known = change.is_after_known and earlier.after == change.before
            merged[change.path] = RecordedChange(
                change.path,
                earlier.before,
                change.after,
                earlier.is_after_known and is_known,
                earlier.is_own and change.is_own,
            )
        return tuple(merged.values())

    @property
    def foreign_states(self) -> Mapping[str, Sequence[FileVersion | None]]:
        """States that others have left between two of the turns, by path."""
        found: dict[str, list[FileVersion | None]] = {}
        last: dict[str, FileVersion | None] = {}
        for change in self._oldest_first():
            if change.path in last and last[change.path] != change.before:
                found.setdefault(change.path, []).append(change.before)
            last[change.path] = change.after
        return found

    @property
    def omitted(self) -> Mapping[str, str]:
        """Files that were changed but not stored, with the reason."""
        return {path: why for each in self.records for path, why in each.omitted.items()}

    @property
    def folders(self) -> Sequence[str]:
        """Directories that the turns have created."""
        return tuple(dict.fromkeys(folder for each in self.records for folder in each.folders))

    def _oldest_first(self) -> Sequence[RecordedChange]:
        return [change for each in reversed(self.records) for change in each.changes]

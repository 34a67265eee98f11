"""Both memory files: read, changed under their lock, and undone.

Every write reads the file again under the lock, so that text written by the user, Hermes or another
server is not lost. Text written by hand is preserved literally: an entry is removed only if an
operation names it. Does not check permissions.
"""

import logging
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeVar, assert_never

from acp_server.memory.entry_index import (
    EntryIndex,
    KnownEntries,
    digest_of,
    filter_known,
    split_known_entries,
)
from acp_server.memory.errors import EntryOperationError, MemoryStoreError
from acp_server.memory.files import (
    MemoryFileState,
    lock_memory_file,
    read_memory_file,
    write_memory_file,
)
from acp_server.memory.operations import (
    Entries,
    EntryOperation,
    MemoryChange,
    apply_operations,
    diff_entries,
)
from acp_server.memory.results import MemoryContents, MemoryResult
from acp_server.memory.undo import MemoryUndoHistory, fingerprint
from acp_server.text.surrogates import repair_surrogates
from prompt_engine.decoding import UndecodableError, decode_text
from prompt_engine.facts import MemorySnapshot
from prompt_engine.findings import ThreatScan
from prompt_engine.memory_entries import FILE_NAMES, StoreName, normalize_entry
from prompt_engine.sources.memory_snapshot import build_snapshot
from prompt_engine.trust import describe_findings
from skills_store.locks import TIMEOUT_SECONDS

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

SAVED = "saved; the system prompt shows it from the next session on"
UNCHANGED = "it is there already; nothing was changed"
MEMORY_CHANGED = "the memory is another by now; nothing was changed, do it again"
NOTHING_TO_UNDO = "there is nothing to undo"
CHANGED_SINCE = (
    "{file} was changed by somebody else since; what it held before our write is in {kept}"
)


class MemoryStores:
    """The enabled memory stores. All calls block."""

    def __init__(
        self,
        home: Path,
        limits: Mapping[StoreName, int],
        scan: ThreatScan,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        """Take HERMES_HOME and the limits in characters; a store without one is disabled."""
        self._folder = home / "memories"
        self._limits = limits
        self._scan = scan
        self._timeout_seconds = timeout_seconds
        self._index = EntryIndex(home / "acp" / "memory_index.json")
        self._undo = MemoryUndoHistory(home / "acp" / "memory_undo")

    @property
    def names(self) -> tuple[StoreName, ...]:
        """Names of the enabled stores."""
        return tuple(self._limits)

    def path(self, name: StoreName) -> Path:
        """Return the path of a store's file."""
        return self._folder / FILE_NAMES[name]

    def contents(self, name: StoreName) -> MemoryContents:
        """Return the current content of a store.

        Raises:
            MemoryStoreError: it cannot be read, or is disabled.
        """
        return self._contents(name, self._read_state(name))

    def screen(self, contents: MemoryContents) -> MemorySnapshot:
        """Return a store as a model may see it: blocked entries replaced, too long text cut."""
        empty = MemorySnapshot((), 0, contents.limit, str(self.path(contents.name)))
        return build_snapshot(contents.entries, empty, self._scan)

    def plan(
        self, name: StoreName, operations: Sequence[EntryOperation]
    ) -> MemoryChange | MemoryResult:
        """Return the change that operations would make, or an answer if there is none."""

        def plan_change() -> MemoryChange | MemoryResult:
            contents = self.contents(name)
            after = self._apply_checked(contents, operations)
            if isinstance(after, MemoryResult):
                return after
            change = diff_entries(contents.entries, after)
            return (
                MemoryResult(UNCHANGED, contents, is_success=True)
                if change == MemoryChange()
                else change
            )

        return self._catch_errors(name, plan_change)

    def apply(
        self,
        name: StoreName,
        operations: Sequence[EntryOperation],
        shown: MemoryChange | None = None,
    ) -> MemoryResult:
        """Apply all operations or none, and return the result.

        Nothing is changed if the change would differ from the one `shown` before.
        """

        def apply_locked() -> MemoryResult:
            with self._locked(name) as state:
                contents = self._contents(name, state)
                after = self._apply_checked(contents, operations)
                if isinstance(after, MemoryResult):
                    return after
                change = diff_entries(contents.entries, after)
                # The user approved `shown`; the file may have changed while the question was open.
                if shown is not None and change != shown:
                    raise MemoryStoreError(MEMORY_CHANGED)
                if change == MemoryChange():
                    return MemoryResult(UNCHANGED, contents, is_success=True)
                # The file before the index: an index entry without a file entry is harmless.
                self._write(name, state, state.with_entries(after))
                known = self._index.known(name)
                self._save_index(name, filter_known(after, {*known, *map(digest_of, change.added)}))
                return MemoryResult(SAVED, replace(contents, entries=after), is_success=True)

        return self._catch_errors(name, apply_locked)

    def failure_result(self, name: StoreName, reason: str) -> MemoryResult:
        """Return the answer that nothing was changed, for a reason from the caller."""
        try:
            return MemoryResult(reason, self.contents(name))
        except MemoryStoreError:
            return MemoryResult(reason)

    def raw(self, name: StoreName) -> bytes:
        """Return the bytes of a store's file; empty if it does not exist.

        Raises:
            MemoryStoreError: it cannot be read, or is disabled.
        """
        return self._read_state(name).raw

    def rewrite(self, name: StoreName, base: bytes, data: bytes) -> MemoryResult:
        """Replace `base` by the user's own text, byte for byte and without screening.

        Nothing is changed if the file does not contain `base` any more.
        """

        def rewrite_locked() -> MemoryResult:
            if data == base:
                return MemoryResult("nothing was changed", self.contents(name), is_success=True)
            try:
                decode_text(data)
            except UndecodableError as error:
                raise MemoryStoreError(f"nothing was changed: {error.reason}") from error
            with self._locked(name) as state:
                # The user edited `base`; overwriting a newer file would lose another change.
                if state.raw != base:
                    raise MemoryStoreError(MEMORY_CHANGED)
                self._write(name, state, data)
                self._reindex(name, data)
            return MemoryResult("saved", self.contents(name), is_success=True)

        return self._catch_errors(name, rewrite_locked)

    def undo(self, name: StoreName | None = None) -> MemoryResult:
        """Undo our last write, of one store or of all, unless the file was changed since."""
        last_numbers: dict[StoreName, int] = {
            each: entries[-1].number
            for each in ((name,) if name is not None else self.names)
            if (entries := self._undo.entries(each))
        }
        if not last_numbers:
            return MemoryResult(NOTHING_TO_UNDO)
        chosen = max(last_numbers, key=lambda each: last_numbers[each])
        return self._catch_errors(chosen, lambda: self._undo_store(chosen))

    def _undo_store(self, name: StoreName) -> MemoryResult:
        with self._locked(name) as state:
            for entry in reversed(self._undo.entries(name)):
                before = entry.path.read_bytes()
                if before == state.raw:  # the write never happened, or was undone by hand
                    self._undo.delete(entry)
                    continue
                # The file was written since by someone else: undoing our write would undo theirs,
                # too.
                if fingerprint(state.raw) != entry.written_fingerprint:
                    raise MemoryStoreError(CHANGED_SINCE.format(file=state.path, kept=entry.path))
                write_memory_file(state, before)
                self._undo.delete(entry)
                self._reindex(name, before)
                return MemoryResult(f"undone in {state.path}", self.contents(name), is_success=True)
        return MemoryResult(NOTHING_TO_UNDO, self.contents(name))

    def _catch_errors(self, name: StoreName, action: Callable[[], Result]) -> Result | MemoryResult:
        """Run an operation on a store; turn its errors into an answer."""
        try:
            return action()
        except MemoryStoreError as error:
            reason = error.reason
        except OSError as error:
            reason = f"nothing was changed: {error}"
        return self.failure_result(name, reason)

    def _apply_checked(
        self, contents: MemoryContents, operations: Sequence[EntryOperation]
    ) -> Entries | MemoryResult:
        """Return the entries after operations, or an answer if one of them is refused."""
        cleaned = [
            replace(
                operation,
                content=normalize_entry(repair_surrogates(operation.content)),
                old_text=normalize_entry(repair_surrogates(operation.old_text)),
            )
            for operation in operations
        ]
        try:
            for operation in cleaned:
                self._check(operation.content)
            after = apply_operations(contents.entries, cleaned)
            _check_size(contents, after)
        except EntryOperationError as error:
            return self._refusal(contents, error)
        return after

    def _check(self, content: str) -> None:
        findings = self._scan(content, "strict")
        if findings:
            found = describe_findings(findings)
            reason = f"this is not kept: {found}; put it as a plain fact, without that"
            raise EntryOperationError("blocked", reason)
        if "\0" in content:
            raise EntryOperationError("blocked", "this is not kept: it holds NUL")

    def _refusal(self, contents: MemoryContents, error: EntryOperationError) -> MemoryResult:
        match error.kind:
            case "no match" | "over the limit":
                current = self.screen(contents).entries
                return MemoryResult(error.reason, contents, current_entries=current)
            case "several matches":
                matches = self.screen(replace(contents, entries=error.matches)).entries
                return MemoryResult(error.reason, contents, matches=matches)
            case "incomplete" | "blocked":
                return MemoryResult(error.reason, contents)
            case _:
                assert_never(error.kind)

    @contextmanager
    def _locked(self, name: StoreName) -> Generator[MemoryFileState]:
        """Hold a store's lock and read its file under it."""
        self._limit(name)
        with lock_memory_file(self.path(name), self._timeout_seconds):
            yield read_memory_file(self.path(name))

    def _read_state(self, name: StoreName) -> MemoryFileState:
        self._limit(name)
        return read_memory_file(self.path(name))

    def _contents(self, name: StoreName, state: MemoryFileState) -> MemoryContents:
        entries = split_known_entries(state.text, self._index.known(name))
        return MemoryContents(name, entries, self._limit(name))

    def _limit(self, name: StoreName) -> int:
        limit = self._limits.get(name)
        if limit is None:
            raise MemoryStoreError(f"the store {name!r} is switched off by the settings")
        return limit

    def _write(self, name: StoreName, state: MemoryFileState, data: bytes) -> None:
        """Write a file under its lock; its previous content is stored for undo first."""
        # Before the write: a crash in between leaves an undo entry without effect, not a lost text.
        undo_entry = self._undo.save(name, state.raw, data)
        try:
            write_memory_file(state, data)
        except OSError:
            self._undo.delete(undo_entry)
            raise

    def _reindex(self, name: StoreName, data: bytes) -> None:
        """Update the index after a text was written that we did not compose."""
        known = self._index.known(name)
        self._save_index(name, filter_known(split_known_entries(decode_text(data), known), known))

    def _save_index(self, name: StoreName, known: KnownEntries) -> None:
        """Store which entries of a file are ours; a failure loses no memory and is only logged."""
        try:
            self._index.save(name, known)
        except OSError as error:
            logger.warning("could not save the entry index of %s: %s", self.path(name), error)


def _check_size(contents: MemoryContents, after: Entries) -> None:
    """Refuse growth beyond the limit; a store that is beyond it may shrink."""
    limit, used = contents.limit, contents.used
    final = replace(contents, entries=after).used
    if final > max(limit, used):
        reason = (
            f"this needs {final - used:,} characters and {max(0, limit - used):,} are free: the "
            f"store would hold {final:,} of {limit:,}. Shorten it, or make room in the same call: "
            "operations that replace and remove come with it, and only their end must fit"
        )
        raise EntryOperationError("over the limit", reason)

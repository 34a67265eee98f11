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

from acp_server.memory.entry_index import EntryIndex, Known, digest_of, entries_of, known_of
from acp_server.memory.errors import OperationError, StoreError
from acp_server.memory.files import FileState, held, look_at, write
from acp_server.memory.operations import (
    Change,
    Entries,
    Operation,
    carried_out,
    change_between,
)
from acp_server.memory.results import Answer, Contents
from acp_server.memory.undo import UndoFolder, fingerprint
from acp_server.text.surrogates import mended
from prompt_engine.decoding import UndecodableError, decode
from prompt_engine.facts import MemoryStore
from prompt_engine.findings import Scan
from prompt_engine.memory_entries import FILE_NAMES, StoreName, normalized
from prompt_engine.sources.memory_snapshot import snapshot_of
from prompt_engine.trust import told
from skills_store.locks import PATIENCE_SECONDS

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

SAVED = "saved; the system prompt shows it from the next session on"
NOTHING_NEW = "it is there already; nothing was changed"
MOVED_ON = "the memory is another by now; nothing was changed, do it again"
NOTHING_TO_UNDO = "there is nothing to undo"
CHANGED_SINCE = (
    "{file} was changed by somebody else since; what it held before our write is in {kept}"
)


class Memory:
    """The enabled memory stores. All calls block."""

    def __init__(
        self,
        home: Path,
        limits: Mapping[StoreName, int],
        scan: Scan,
        patience_seconds: float = PATIENCE_SECONDS,
    ) -> None:
        """Take HERMES_HOME and the limits in characters; a store without one is disabled."""
        self._folder = home / "memories"
        self._limits = limits
        self._scan = scan
        self._patience_seconds = patience_seconds
        self._index = EntryIndex(home / "acp" / "memory_index.json")
        self._undo = UndoFolder(home / "acp" / "memory_undo")

    @property
    def names(self) -> tuple[StoreName, ...]:
        """Names of the enabled stores."""
        return tuple(self._limits)

    def path(self, name: StoreName) -> Path:
        """Return the path of a store's file."""
        return self._folder / FILE_NAMES[name]

    def contents(self, name: StoreName) -> Contents:
        """Return the current content of a store.

        Raises:
            StoreError: it cannot be read, or is disabled.
        """
        return self._contents(name, self._look(name))

    def shown(self, contents: Contents) -> MemoryStore:
        """Return a store as a model may see it: blocked entries replaced, too long text cut."""
        empty = MemoryStore((), 0, contents.limit, str(self.path(contents.name)))
        return snapshot_of(contents.entries, empty, self._scan)

    def plan(self, name: StoreName, operations: Sequence[Operation]) -> Change | Answer:
        """Return the change that operations would make, or an answer if there is none."""

        def planned() -> Change | Answer:
            contents = self.contents(name)
            after = self._after(contents, operations)
            if isinstance(after, Answer):
                return after
            change = change_between(contents.entries, after)
            return Answer(NOTHING_NEW, contents, is_success=True) if change == Change() else change

        return self._answered(name, planned)

    def apply(
        self, name: StoreName, operations: Sequence[Operation], shown: Change | None = None
    ) -> Answer:
        """Apply all operations or none, and return the result.

        Nothing is changed if the change would differ from the one `shown` before.
        """

        def applied() -> Answer:
            with self._held(name) as state:
                contents = self._contents(name, state)
                after = self._after(contents, operations)
                if isinstance(after, Answer):
                    return after
                change = change_between(contents.entries, after)
                # The user approved `shown`; the file may have changed while the question was open.
                if shown is not None and change != shown:
                    raise StoreError(MOVED_ON)
                if change == Change():
                    return Answer(NOTHING_NEW, contents, is_success=True)
                # The file before the index: an index entry without a file entry is harmless.
                self._put(name, state, state.with_entries(after))
                known = self._index.known(name)
                self._know(name, known_of(after, {*known, *map(digest_of, change.added)}))
                return Answer(SAVED, replace(contents, entries=after), is_success=True)

        return self._answered(name, applied)

    def failure(self, name: StoreName, reason: str) -> Answer:
        """Return the answer that nothing was changed, for a reason from the caller."""
        try:
            return Answer(reason, self.contents(name))
        except StoreError:
            return Answer(reason)

    def raw(self, name: StoreName) -> bytes:
        """Return the bytes of a store's file; empty if it does not exist.

        Raises:
            StoreError: it cannot be read, or is disabled.
        """
        return self._look(name).raw

    def rewrite(self, name: StoreName, base: bytes, data: bytes) -> Answer:
        """Replace `base` by the user's own text, byte for byte and without screening.

        Nothing is changed if the file does not contain `base` any more.
        """

        def rewritten() -> Answer:
            if data == base:
                return Answer("nothing was changed", self.contents(name), is_success=True)
            try:
                decode(data)
            except UndecodableError as error:
                raise StoreError(f"nothing was changed: {error.reason}") from error
            with self._held(name) as state:
                # The user edited `base`; overwriting a newer file would lose another change.
                if state.raw != base:
                    raise StoreError(MOVED_ON)
                self._put(name, state, data)
                self._know_what_is_left(name, data)
            return Answer("saved", self.contents(name), is_success=True)

        return self._answered(name, rewritten)

    def undo(self, name: StoreName | None = None) -> Answer:
        """Undo our last write, of one store or of all, unless the file was changed since."""
        last: dict[StoreName, int] = {
            each: kept[-1].number
            for each in ((name,) if name is not None else self.names)
            if (kept := self._undo.all(each))
        }
        if not last:
            return Answer(NOTHING_TO_UNDO)
        chosen = max(last, key=lambda each: last[each])
        return self._answered(chosen, lambda: self._undone(chosen))

    def _undone(self, name: StoreName) -> Answer:
        with self._held(name) as state:
            for former in reversed(self._undo.all(name)):
                before = former.path.read_bytes()
                if before == state.raw:  # the write never happened, or was undone by hand
                    self._undo.forget(former)
                    continue
                # The file was written since by someone else: undoing our write would undo theirs,
                # too.
                if fingerprint(state.raw) != former.left:
                    raise StoreError(CHANGED_SINCE.format(file=state.path, kept=former.path))
                write(state, before)
                self._undo.forget(former)
                self._know_what_is_left(name, before)
                return Answer(f"undone in {state.path}", self.contents(name), is_success=True)
        return Answer(NOTHING_TO_UNDO, self.contents(name))

    def _answered(self, name: StoreName, act: Callable[[], Result]) -> Result | Answer:
        """Run an operation on a store; turn its errors into an answer."""
        try:
            return act()
        except StoreError as error:
            reason = error.reason
        except OSError as error:
            reason = f"nothing was changed: {error}"
        return self.failure(name, reason)

    def _after(self, contents: Contents, operations: Sequence[Operation]) -> Entries | Answer:
        """Return the entries after operations, or an answer if one of them is refused."""
        cleaned = [_cleaned(operation) for operation in operations]
        try:
            for operation in cleaned:
                self._check(operation.content)
            after = carried_out(contents.entries, cleaned)
            _check_size(contents, after)
        except OperationError as error:
            return self._refused(contents, error)
        return after

    def _check(self, content: str) -> None:
        findings = self._scan(content, "strict")
        if findings:
            reason = f"this is not kept: {told(findings)}; put it as a plain fact, without that"
            raise OperationError("blocked", reason)
        if "\0" in content:
            raise OperationError("blocked", "this is not kept: it holds NUL")

    def _refused(self, contents: Contents, error: OperationError) -> Answer:
        match error.kind:
            case "no match" | "over the limit":
                current = self.shown(contents).entries
                return Answer(error.reason, contents, current_entries=current)
            case "several matches":
                matches = self.shown(replace(contents, entries=error.matches)).entries
                return Answer(error.reason, contents, matches=matches)
            case "incomplete" | "blocked":
                return Answer(error.reason, contents)
            case _:
                assert_never(error.kind)

    @contextmanager
    def _held(self, name: StoreName) -> Generator[FileState]:
        """Hold a store's lock and read its file under it."""
        self._limit(name)
        with held(self.path(name), self._patience_seconds):
            yield look_at(self.path(name))

    def _look(self, name: StoreName) -> FileState:
        self._limit(name)
        return look_at(self.path(name))

    def _contents(self, name: StoreName, state: FileState) -> Contents:
        entries = entries_of(state.text, self._index.known(name))
        return Contents(name, entries, self._limit(name))

    def _limit(self, name: StoreName) -> int:
        limit = self._limits.get(name)
        if limit is None:
            raise StoreError(f"the store {name!r} is switched off by the settings")
        return limit

    def _put(self, name: StoreName, state: FileState, data: bytes) -> None:
        """Write a file under its lock; its previous content is stored for undo first."""
        # Before the write: a crash in between leaves an undo entry without effect, not a lost text.
        former = self._undo.keep(name, state.raw, data)
        try:
            write(state, data)
        except OSError:
            self._undo.forget(former)
            raise

    def _know_what_is_left(self, name: StoreName, data: bytes) -> None:
        """Update the index after a text was written that we did not compose."""
        known = self._index.known(name)
        self._know(name, known_of(entries_of(decode(data), known), known))

    def _know(self, name: StoreName, known: Known) -> None:
        """Store which entries of a file are ours; a failure loses no memory and is only logged."""
        try:
            self._index.keep(name, known)
        except OSError as error:
            logger.warning("could not save the entry index of %s: %s", self.path(name), error)


def _cleaned(operation: Operation) -> Operation:
    """Return an operation with normalized texts that can be stored in a file."""
    content, old_text = (normalized(mended(t)) for t in (operation.content, operation.old_text))
    return replace(operation, content=content, old_text=old_text)


def _check_size(contents: Contents, after: Entries) -> None:
    """Refuse growth beyond the limit; a store that is beyond it may shrink."""
    limit, used = contents.limit, contents.used
    final = replace(contents, entries=after).used
    if final > max(limit, used):
        reason = (
            f"this needs {final - used:,} characters and {max(0, limit - used):,} are free: the "
            f"store would hold {final:,} of {limit:,}. Shorten it, or make room in the same call: "
            "operations that replace and remove come with it, and only their end must fit"
        )
        raise OperationError("over the limit", reason)

"""What the model of one conversation has seen of each file: digests of the file and of its lines.

A file counts as seen only as far as its text reached the model. A read is therefore noted when it
is made, and counts once the model has answered a conversation that holds its text, as far as it
does: the result may be shortened before it is sent, and calls of one response do not see each
other's results. What the model wrote itself counts at once.

Paths are absolute with links followed; texts have the newlines that the file service returns.
"""

import io
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import takewhile

from acp_server.session.ports.archive import SeenFile
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.line_diff import iter_hunks
from acp_server.turn.conversation import (
    Attachment,
    ConversationJournal,
    Message,
    ToolResult,
    UserMessage,
)

MAX_FILES = 1_000
"""The files noted or changed longest ago are forgotten first."""
MAX_LINES = 200_000
"""A longer file is not tracked: it counts as unread."""
MAX_RANGES = 5
MAX_SHOWN = 1_000
"""How many of the latest reads are remembered as results that the conversation still holds."""
MIN_REFERRED_CHARACTERS = 200
"""A shorter run of lines is repeated rather than referred to."""
_WINDOW_LINES = 5
"""Lines that must agree before it is looked how far a run goes."""
_DIGEST_BYTES = 16
_LINE_DIGEST_BYTES = 6
_UNSEEN_RUN = re.compile(b"\0+")

LineRange = tuple[int, int]
"""The first and the last line, from 1."""


def ignore_seen_file(seen_file: SeenFile) -> None:
    """Do nothing: what a sub-agent has seen is not stored."""
    del seen_file


@frozen_dataclass
class _Content:
    """A file's text as digests: of the whole, and of each line, one after the other."""

    digest: str
    line_digests: bytes

    @property
    def line_count(self) -> int:
        return len(self.line_digests) // _LINE_DIGEST_BYTES

    def lines(self) -> list[bytes]:
        starts = range(0, len(self.line_digests), _LINE_DIGEST_BYTES)
        return [self.line_digests[start : start + _LINE_DIGEST_BYTES] for start in starts]


@dataclass(slots=True)
class _View:
    """The last content of a file that the model saw some lines of, and which lines these are."""

    content: _Content
    seen: bytearray
    """One byte for each line: 1 if the model has seen it."""
    reported: str = ""
    """Digest of the content that the model was told of; empty if there is none."""
    order: int = 0

    @property
    def is_whole(self) -> bool:
        return 0 not in self.seen


@frozen_dataclass
class _UnconfirmedRead:
    """Lines on their way to the model: in a call's result, or in an attachment."""

    path: str
    content: _Content
    lines: LineRange
    source: str
    """The id of the call, or the URI of the attachment."""
    shown_text: str
    """What the model must have been sent for the whole read to count."""
    skipped_lines: int
    """How many lines of `shown_text` come before these."""
    order: int

    def received_part(self, received: str) -> "_UnconfirmedRead | None":
        """Return the read as far as the text that the model received shows it."""
        if received.startswith(self.shown_text):
            return self
        # A text that was cut begins with whole lines of what it was.
        pairs = zip(_lines_of(self.shown_text), _lines_of(received), strict=False)
        common = [one for one, _ in takewhile(lambda pair: pair[0] == pair[1], pairs)]
        first, last = self.lines
        last = min(first + len(common) - self.skipped_lines - 1, last)
        if last < first:
            return None
        return replace(self, lines=(first, last), shown_text="".join(common))


@frozen_dataclass
class ShownRun:
    """Lines of a file that an earlier result in the conversation shows as they are now."""

    first: int
    last: int
    first_there: int
    """The number that the first of them has in that result."""


@frozen_dataclass
class _ShownLines:
    """Lines of a file that a result or an attachment in the conversation shows."""

    path: str
    first_line: int
    line_digests: bytes
    source: str
    """The id of the call, or the URI of the attachment."""
    shown_characters: int
    shown_digest: str
    """Digest of the beginning of the result, up to `shown_characters`."""

    def find_run(self, digests: bytes, number: int) -> tuple[int, int]:
        """Return the longest run that begins here and that these lines hold too.

        `digests` are those of the lines from `number` on. The run is given by the number of its
        first line in this result, and its length; 0 if there is none. The same line numbers come
        first, as most edits leave the lines before them where they are.
        """
        own = self.line_digests
        same = (number - self.first_line) * _LINE_DIGEST_BYTES
        best, length = 0, 0
        if 0 <= same < len(own):
            best, length = number, _common_lines(own, same, digests)
        window = digests[: _WINDOW_LINES * _LINE_DIGEST_BYTES]
        position = own.find(window) if length < _WINDOW_LINES else -1
        while position >= 0:
            if position % _LINE_DIGEST_BYTES == 0:
                common = _common_lines(own, position, digests)
                if common > length:
                    best, length = self.first_line + position // _LINE_DIGEST_BYTES, common
            position = own.find(window, position + 1)
        return best, length

    def is_in(self, received: Mapping[str, str]) -> bool:
        """Whether the conversation still holds it, given its results and attachments."""
        text = received.get(self.source, "")[: self.shown_characters]
        return _digest(text) == self.shown_digest


class SeenFiles:
    """Tracks the files of one conversation; it follows the conversation as its journal."""

    def __init__(
        self,
        journal: ConversationJournal | None = None,
        save: Callable[[SeenFile], None] = ignore_seen_file,
        stored: Iterable[SeenFile] = (),
        call_prefix: str = "",
    ) -> None:
        """Continue from `stored`, and pass the conversation on to `journal`.

        `call_prefix` is what the tools' call ids have in front of those of the conversation.
        """
        self._journal = journal
        self._save = save
        self._call_prefix = call_prefix
        self._views: dict[str, _View] = {}
        self._pending: list[_UnconfirmedRead] = []
        self._arrived: list[UserMessage] = []
        """The user messages that the model has not answered yet."""
        self._order = 0
        self._shown: list[_ShownLines] = []
        """What the conversation still shows, as far as this process has followed it."""
        self._referred: tuple[str, LineRange] | None = None
        """The lines for which the last read was referred to an earlier result."""
        for each in stored:
            view = _view_from(each)
            if view is None:
                self._views.pop(each.path, None)
            else:
                self._views[each.path] = view

    @property
    def paths(self) -> Sequence[str]:
        """The files of which the model has seen something, the latest last."""
        return tuple(self._views)

    def append(self, message: Message) -> None:
        """Follow the conversation: an answer shows that the model received what came before."""
        if self._journal is not None:
            self._journal.append(message)
        if isinstance(message, UserMessage):
            self._arrived.append(message)
        else:
            self._settle()

    def rebuild(self, messages: Sequence[Message]) -> None:
        """Follow the conversation: results that were not sent yet may have been shortened."""
        if self._journal is not None:
            self._journal.rebuild(messages)
        self._arrived = [each for each in messages if isinstance(each, UserMessage)]
        received = _received_texts(self._arrived)
        self._shown = [each for each in self._shown if each.is_in(received)]

    def shown_runs(self, path: str, text: str, lines: LineRange) -> Sequence[ShownRun]:
        """Return the runs of these lines of a file that the conversation shows, in order.

        Asked twice in a row about the same lines, it returns none: a model that reads again what
        it was referred to has not found it.
        """
        wanted, referred = (path, lines), self._referred
        self._referred = None
        results = [each for each in reversed(self._shown) if each.path == path]
        content = _content_of(text) if results and wanted != referred else None
        if content is None:
            return ()
        lengths = [len(line) for line in io.StringIO(text, newline="\n")]
        runs = [
            run
            for run in _find_runs(results, content, lines)
            if sum(lengths[run.first - 1 : run.last]) >= MIN_REFERRED_CHARACTERS
        ]
        self._referred = wanted if runs else None
        return runs

    def note_read(
        self,
        path: str,
        text: str,
        lines: LineRange,
        call_id: str,
        shown_text: str,
        skipped_lines: int = 0,
    ) -> None:
        """Note that a call's result shows lines of a file.

        The result begins with `shown_text`, in which the lines of the file follow `skipped_lines`
        others, each on a line of its own.
        """
        source = call_id.removeprefix(self._call_prefix)
        self._note_pending(path, text, lines, source, shown_text, skipped_lines)

    def note_attachment(self, path: str, text: str, uri: str, shown_text: str) -> None:
        """Note that a whole file is attached to the prompt that is being written."""
        self._note_pending(path, text, (1, MAX_LINES), uri, shown_text, 0)

    def note_written(self, path: str, text: str) -> None:
        """Note that the model wrote a whole file."""
        content = _content_of(text)
        if content is None:
            self.forget(path)
        else:
            self._put(path, _View(content, bytearray(b"\1" * content.line_count)))

    def note_patched(self, path: str, before: str, after: str, written: Collection[str]) -> None:
        """Note that the model changed a part of a file; `written` are whole lines of its own."""
        content, base = _content_of(after), _content_of(before)
        if content is None or base is None:
            self.forget(path)
            return
        base_seen = self._seen_of(path, base)
        old, new = base.lines(), content.lines()
        own_lines = {_line_digest(line) for line in written}
        seen, end, new_end = bytearray(len(new)), 0, 0
        for a, b, c, d in iter_hunks(old, new):
            seen[new_end:c] = base_seen[end:a]
            # The rest of a line may be unknown to the model, so a line counts only if the model
            # wrote all of it, or knew all that was there.
            was_known = 0 not in base_seen[max(a - 1, 0) : b + 1]
            for index in range(c, d):
                seen[index] = was_known or new[index] in own_lines
            end, new_end = b, d
        seen[new_end:] = base_seen[end:]
        self._put(path, _View(content, seen))

    def move(self, path: str, target: str) -> None:
        """Note that the model moved a file."""
        view = self._views.get(path)
        if view is not None:
            self.forget(path)
            self._put(target, view)

    def forget(self, path: str) -> None:
        """Forget a file: it counts as unread."""
        self._pending = [each for each in self._pending if each.path != path]
        if self._views.pop(path, None) is not None:
            self._save(SeenFile(path))

    def forget_all(self) -> None:
        """Forget all files, because parts of the conversation were removed."""
        self._pending.clear()
        self._shown.clear()
        for path in tuple(self._views):
            self.forget(path)

    def shows_file(self, call_id: str) -> bool:
        """Whether the result of a call is text of a file that the conversation still shows."""
        return any(each.source == call_id for each in self._shown)

    def is_known(self, path: str) -> bool:
        """Whether the model has seen anything of a file."""
        return path in self._views

    def unseen_lines(self, path: str, text: str) -> str:
        """Describe the lines of a text that the model has not seen; empty if it has seen all."""
        content = _content_of(text)
        view = self._views.get(path)
        if content is None or view is None:
            return "all of it"
        seen = view.seen if view.content.digest == content.digest else _rebase(view, content)
        return _describe(_unseen_ranges(seen))

    def describe_change(self, path: str, text: str) -> str:
        """Describe where a text differs from the one that the model saw; empty if it does not."""
        content, view = _content_of(text), self._views.get(path)
        if view is None or (content is not None and view.content.digest == content.digest):
            return ""
        if content is None:
            return "all of it"
        hunks = tuple(iter_hunks(view.content.lines(), content.lines()))
        changed = [(c + 1, d) for _, _, c, d in hunks if d > c]
        return _describe(changed, [c for _, _, c, d in hunks if d == c])

    def take_change(self, path: str, text: str | None) -> str:
        """Describe a change once: empty if there is none, or if it was described already.

        `text` is None if the file was deleted.
        """
        view = self._views.get(path)
        content = None if text is None else _content_of(text)
        digest = "gone" if content is None else content.digest
        if view is None or digest in {view.content.digest, view.reported}:
            return ""
        view.reported = digest
        self._save(_stored_form(path, view))
        return "deleted" if text is None else self.describe_change(path, text)

    def _note_pending(
        self,
        path: str,
        text: str,
        lines: LineRange,
        source: str,
        shown_text: str,
        skipped_lines: int,
    ) -> None:
        content = _content_of(text)
        if content is not None:
            self._order += 1
            self._pending.append(
                _UnconfirmedRead(
                    path, content, lines, source, shown_text, skipped_lines, self._order
                )
            )

    def _settle(self) -> None:
        """Count the reads as far as the model has received their text; the rest never counts."""
        pending, arrived = self._pending, self._arrived
        self._pending, self._arrived = [], []
        if not pending:
            return
        received = _received_texts(arrived)
        for read in pending:
            part = read.received_part(received.get(read.source, ""))
            if part is not None:
                self._count(part)
                self._shown.append(_shown_lines(part))
        del self._shown[:-MAX_SHOWN]

    def _count(self, read: _UnconfirmedRead) -> None:
        view = self._views.get(read.path)
        first, last = read.lines
        if view is not None and view.order > read.order:
            # The model has changed the file since: what it read counts as far as it is still there.
            seen = bytearray(read.content.line_count)
            seen[first - 1 : last] = b"\1" * len(seen[first - 1 : last])
            current = _rebase(_View(read.content, seen), view.content)
            for index, is_seen in enumerate(current):
                view.seen[index] |= is_seen
            self._save(_stored_form(read.path, view))
            return
        seen = self._seen_of(read.path, read.content)
        seen[first - 1 : last] = b"\1" * len(seen[first - 1 : last])
        self._put(read.path, _View(read.content, seen))

    def _seen_of(self, path: str, content: _Content) -> bytearray:
        """Return which lines of a content the model has seen."""
        view = self._views.get(path)
        if view is None:
            return bytearray(content.line_count)
        return _rebase(view, content)

    def _put(self, path: str, view: _View) -> None:
        self._order += 1
        view.order = self._order
        # Removed first, so that the latest files are the last ones.
        self._views.pop(path, None)
        self._views[path] = view
        self._save(_stored_form(path, view))
        if len(self._views) > MAX_FILES:
            self.forget(next(iter(self._views)))


def _lines_of(text: str) -> Iterator[str]:
    return iter(io.StringIO(text, newline="\n"))


def _received_texts(messages: Iterable[UserMessage]) -> Mapping[str, str]:
    """Return the results by call id, and the attachments by URI."""
    parts = [part for message in messages for part in message.parts]
    attached = {part.uri: part.text for part in parts if isinstance(part, Attachment)}
    return attached | {part.call_id: part.text for part in parts if isinstance(part, ToolResult)}


def _find_runs(
    results: Sequence[_ShownLines], content: _Content, lines: LineRange
) -> Iterator[ShownRun]:
    """Yield the runs of lines that results show: as long as possible, across several results."""
    number, last = lines
    run: ShownRun | None = None
    while number <= last:
        start = (number - 1) * _LINE_DIGEST_BYTES
        digests = content.line_digests[start : last * _LINE_DIGEST_BYTES]
        there, length = max(
            (each.find_run(digests, number) for each in results), key=lambda run: run[1]
        )
        if run and not (length and there - number == run.first_there - run.first):
            yield run
            run = None
        if length:
            end = number + length - 1
            run = replace(run, last=end) if run else ShownRun(number, end, there)
        number += max(length, 1)
    if run:
        yield run


def _common_lines(own: bytes, position: int, digests: bytes) -> int:
    """Return how many lines from a position on are the first of `digests`."""
    length, size = 0, _LINE_DIGEST_BYTES
    while own[position : position + size] == digests[length * size : (length + 1) * size] != b"":
        length += 1
        position += size
    return length


def _shown_lines(read: _UnconfirmedRead) -> _ShownLines:
    first, last = read.lines
    return _ShownLines(
        read.path,
        first,
        read.content.line_digests[(first - 1) * _LINE_DIGEST_BYTES : last * _LINE_DIGEST_BYTES],
        read.source,
        len(read.shown_text),
        _digest(read.shown_text),
    )


def _rebase(view: _View, content: _Content) -> bytearray:
    """Return which lines of another content of the file are lines that the model saw."""
    if view.content.digest == content.digest:
        return bytearray(view.seen)
    seen = bytearray(content.line_count)
    end, new_end = 0, 0
    deletions: list[int] = []
    for a, b, c, d in iter_hunks(view.content.lines(), content.lines()):
        seen[new_end:c] = view.seen[end:a]
        if c == d:
            deletions.append(c)
        end, new_end = b, d
    seen[new_end:] = view.seen[end:]
    # A deletion leaves no line that the model could read: its neighbors stand for it.
    for position in deletions:
        neighbors = slice(max(position - 1, 0), position + 1)
        seen[neighbors] = bytes(len(seen[neighbors]))
    return seen


def _content_of(text: str) -> _Content | None:
    """Return the digests of a text; None if it has too many lines."""
    normalized = text.replace("\r\n", "\n")
    if normalized.count("\n") > MAX_LINES:
        return None
    digest = _digest(normalized)
    # Only `\n` ends a line, as in `read_file` and in editors.
    lines = io.StringIO(normalized, newline="\n")
    return _Content(digest, b"".join(map(_line_digest, lines)))


def _digest(text: str) -> str:
    return blake2b(_encoded(text), digest_size=_DIGEST_BYTES).hexdigest()


def _line_digest(line: str) -> bytes:
    return blake2b(_encoded(line), digest_size=_LINE_DIGEST_BYTES).digest()


def _encoded(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def _unseen_ranges(seen: bytearray) -> list[LineRange]:
    return [(found.start() + 1, found.end()) for found in _UNSEEN_RUN.finditer(seen)]


def _describe(ranges: Sequence[LineRange], deletions: Sequence[int] = ()) -> str:
    """Return places in a file as text: ranges of lines, and lines after which some are gone."""
    shown = ranges[:MAX_RANGES]
    shown_deletions = deletions[: MAX_RANGES - len(shown)]
    parts: list[str] = []
    if shown:
        names = [f"{a}" if a == b else f"{a}-{b}" for a, b in shown]
        is_single = len(shown) == 1 and shown[0][0] == shown[0][1]
        parts.append(f"{'line' if is_single else 'lines'} {', '.join(names)}")
    if shown_deletions:
        names = [f"line {line}" if line else "the start" for line in shown_deletions]
        parts.append(f"lines deleted after {', '.join(names)}")
    more = len(ranges) + len(deletions) - len(shown) - len(shown_deletions)
    return "; ".join(parts) + (f" and {more} more places" if more else "")


def _stored_form(path: str, view: _View) -> SeenFile:
    return SeenFile(
        path,
        view.content.digest,
        b64encode(view.content.line_digests).decode(),
        tuple(_unseen_ranges(view.seen)),
        view.reported,
    )


def _view_from(stored: SeenFile) -> _View | None:
    """Return a stored view; None if the file was forgotten, or the record is damaged."""
    try:
        content = _Content(stored.digest, b64decode(stored.line_digests, validate=True))
        seen = bytearray(b"\1" * content.line_count)
        for first, last in stored.unseen:
            seen[first - 1 : last] = bytes(len(seen[first - 1 : last]))
    except (TypeError, ValueError):
        return None
    return _View(content, seen, stored.reported) if stored.digest else None

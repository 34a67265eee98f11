"""What counts as seen of a file: reads that reached the model, and what it wrote itself."""

from dataclasses import dataclass, field
from itertools import count

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from acp_server.session.ports.archive import SeenFile
from acp_server.session.seen_files import MAX_FILES, MAX_LINES, SeenFiles, ShownRun
from acp_server.turn.conversation import (
    AssistantMessage,
    Attachment,
    Conversation,
    Text,
    ToolResult,
    UserMessage,
)

PATH = "/workspace/a.py"
ANSWER = AssistantMessage((Text("I see."),))


@dataclass(slots=True)
class Reader:
    """A model that reads files, and the conversation that it reads them in."""

    stored: list[SeenFile] = field(default_factory=list[SeenFile])
    seen: SeenFiles = field(init=False)
    conversation: Conversation = field(init=False)

    def __post_init__(self) -> None:
        self.seen = SeenFiles(save=self.stored.append)
        self.conversation = Conversation((), self.seen)

    def read(self, text: str, first: int = 1, last: int | None = None) -> None:
        """Read lines of a file, and answer."""
        shown = self.note_read(text, first, last)
        self.conversation.append(UserMessage((ToolResult("call", f"{shown}\n[more]"),)))
        self.conversation.append(ANSWER)

    def note_read(self, text: str, first: int = 1, last: int | None = None) -> str:
        lines = text.splitlines(keepends=True)
        end = len(lines) if last is None else last
        shown = "".join(lines[first - 1 : end])
        self.seen.note_read(PATH, text, (first, end), "call", shown)
        return shown


def numbered(count: int) -> str:
    return "".join(f"line {number}\n" for number in range(1, count + 1))


TEXT = numbered(60)
LONG = TEXT.replace("\n", " of a file that is like any other\n")


def test_a_file_read_whole_is_seen_until_it_changes() -> None:
    reader = Reader()
    assert reader.seen.unseen_lines(PATH, TEXT) == "all of it"
    reader.read(TEXT)
    assert (reader.seen.unseen_lines(PATH, TEXT), reader.seen.describe_change(PATH, TEXT)) == (
        "",
        "",
    )
    changed = TEXT.replace("line 40\n", "mine\nmine too\n").replace("line 60\n", "the end\n")
    assert reader.seen.describe_change(PATH, changed) == "lines 40-41, 61"
    assert reader.seen.unseen_lines(PATH, changed) == "lines 40-41, 61"


def test_the_lines_of_several_reads_add_up() -> None:
    reader = Reader()
    reader.read(TEXT, 1, 20)
    assert reader.seen.unseen_lines(PATH, TEXT) == "lines 21-60"
    reader.read(TEXT, 31, 60)
    assert reader.seen.unseen_lines(PATH, TEXT) == "lines 21-30"
    reader.read(TEXT, 21, 30)
    assert reader.seen.unseen_lines(PATH, TEXT) == ""


def test_reading_the_changed_lines_again_is_enough() -> None:
    reader = Reader()
    reader.read(TEXT)
    changed = TEXT.replace("line 7\n", "mine\n")
    reader.read(changed, 7, 7)
    assert reader.seen.unseen_lines(PATH, changed) == ""


def test_a_deletion_is_seen_only_where_it_was_made() -> None:
    reader = Reader()
    reader.read(TEXT)
    changed = TEXT.replace("line 30\n", "")
    assert reader.seen.describe_change(PATH, changed) == "lines deleted after line 29"
    reader.read(changed, 1, 5)
    assert reader.seen.unseen_lines(PATH, changed) == "lines 29-30"
    reader.read(changed, 29, 30)
    assert reader.seen.unseen_lines(PATH, changed) == ""


@pytest.mark.parametrize("received", ["(cleared)", "", "line 1 and"])
def test_a_result_that_was_removed_before_it_was_sent_does_not_count(received: str) -> None:
    reader = Reader()
    shown = reader.note_read(TEXT)
    reader.conversation.append(UserMessage((ToolResult("call", shown),)))
    reader.conversation.rebuild((UserMessage((ToolResult("call", received),)),))
    reader.conversation.append(ANSWER)
    assert not reader.seen.is_known(PATH)


def test_a_result_that_was_cut_before_it_was_sent_counts_as_far_as_it_was_sent() -> None:
    reader = Reader()
    reader.note_read(LONG, 11)
    received = f"{''.join(LONG.splitlines(keepends=True)[10:30])}line 3\n… cut …\nline 60\n"
    reader.conversation.append(UserMessage((ToolResult("call", received),)))
    reader.conversation.append(ANSWER)
    assert reader.seen.unseen_lines(PATH, LONG) == "lines 1-10, 31-60"
    assert reader.seen.shown_runs(PATH, LONG, (1, 60)) == [ShownRun(11, 30, 11)]
    reader.conversation.rebuild((UserMessage((ToolResult("call", "(cleared)"),)),))
    assert not reader.seen.shown_runs(PATH, LONG, (1, 60))
    assert reader.seen.unseen_lines(PATH, LONG) == "lines 1-10, 31-60"


def test_of_a_result_that_shows_several_parts_the_parts_before_the_cut_count() -> None:
    reader = Reader()
    lines = TEXT.splitlines(keepends=True)
    shown = "".join([*lines[:10], "[lines 11-20: unchanged since you read them]\n", *lines[20:40]])
    reader.seen.note_read(PATH, TEXT, (1, 10), "call", shown)
    reader.seen.note_read(PATH, TEXT, (21, 40), "call", shown, skipped_lines=11)
    received = f"{''.join(shown.splitlines(keepends=True)[:16])}\n… cut …"
    reader.conversation.append(UserMessage((ToolResult("call", received),)))
    reader.conversation.append(ANSWER)
    assert reader.seen.unseen_lines(PATH, TEXT) == "lines 11-20, 26-60"


def test_a_result_that_is_cleared_after_it_was_sent_still_counts() -> None:
    reader = Reader()
    reader.read(TEXT)
    reader.conversation.rebuild((UserMessage((Text("A summary."),)),))
    reader.conversation.append(ANSWER)
    assert reader.seen.unseen_lines(PATH, TEXT) == ""


def test_a_read_does_not_count_before_its_result_is_sent() -> None:
    reader = Reader()
    reader.note_read(TEXT)
    assert not reader.seen.is_known(PATH)
    # The calls of the same response, and a response that was cancelled before.
    reader.conversation.append(ANSWER)
    assert not reader.seen.is_known(PATH)


def test_a_read_before_an_edit_of_the_same_batch_keeps_the_edit() -> None:
    reader = Reader()
    shown = reader.note_read(TEXT)
    after = TEXT.replace("line 3\n", "three\n")
    reader.seen.note_patched(PATH, TEXT, after, {"three\n"})
    reader.conversation.append(UserMessage((ToolResult("call", shown),)))
    reader.conversation.append(ANSWER)
    assert reader.seen.unseen_lines(PATH, after) == ""
    assert reader.seen.describe_change(PATH, after) == ""


def test_an_attached_file_is_seen_as_far_as_it_was_not_shortened() -> None:
    for received, unseen in ((TEXT, ""), (TEXT[:50], "lines 8-60")):
        reader = Reader()
        reader.seen.note_attachment(PATH, TEXT, "file:///workspace/a.py", TEXT)
        attachment = Attachment("file:///workspace/a.py", received)
        reader.conversation.append(UserMessage((attachment,)))
        reader.conversation.append(ANSWER)
        assert reader.seen.unseen_lines(PATH, TEXT) == unseen


def test_a_patch_of_a_file_read_whole_keeps_it_seen_and_one_of_another_does_not() -> None:
    after = TEXT.replace("line 3\n", "three\n")
    reader = Reader()
    reader.read(TEXT)
    reader.seen.note_patched(PATH, TEXT, after, {"three\n"})
    assert reader.seen.unseen_lines(PATH, after) == ""
    unread = Reader()
    unread.seen.note_patched(PATH, TEXT, after, {"three\n"})
    assert unread.seen.unseen_lines(PATH, after) == "lines 1-2, 4-60"


def test_a_line_of_which_only_a_word_was_replaced_stays_unseen() -> None:
    reader = Reader()
    reader.seen.note_patched(PATH, "key = secret\n", "name = secret\n", {"name", "name\n"})
    assert reader.seen.unseen_lines(PATH, "name = secret\n") == "line 1"


def test_a_change_is_described_once() -> None:
    reader = Reader()
    reader.read(TEXT)
    assert reader.seen.take_change(PATH, TEXT) == ""
    assert reader.seen.take_change(PATH, TEXT + "mine\n") == "line 61"
    assert reader.seen.take_change(PATH, TEXT + "mine\n") == ""
    assert reader.seen.take_change(PATH, TEXT + "mine\nagain\n") == "lines 61-62"
    assert reader.seen.take_change(PATH, None) == "deleted"
    assert reader.seen.take_change(PATH, None) == ""


def test_many_changes_are_described_in_bounds() -> None:
    reader = Reader()
    reader.read(TEXT)
    changed = "".join(
        f"{line}!\n" if number % 5 == 0 else f"{line}\n"
        for number, line in enumerate(TEXT.splitlines())
    )
    assert reader.seen.describe_change(PATH, changed) == "lines 1, 6, 11, 16, 21 and 7 more places"


def test_what_was_seen_is_stored_and_restored() -> None:
    reader = Reader()
    reader.read(TEXT, 1, 20)
    reader.seen.take_change(PATH, f"{TEXT}mine\n")
    reader.seen.note_written("/workspace/b.py", "b\n")
    reader.seen.note_written("/workspace/gone.py", "c\n")
    reader.seen.forget("/workspace/gone.py")
    restored = SeenFiles(stored=reader.stored)
    assert restored.paths == (PATH, "/workspace/b.py")
    assert restored.unseen_lines(PATH, TEXT) == "lines 21-60"
    assert restored.take_change(PATH, f"{TEXT}mine\n") == ""
    assert restored.unseen_lines("/workspace/b.py", "b\n") == ""


def test_a_damaged_record_counts_as_unread() -> None:
    seen = SeenFiles(stored=[SeenFile(PATH, "abc", "no Base64!")])
    assert not seen.is_known(PATH)


def test_forgotten_and_too_long_files_are_unread() -> None:
    reader = Reader()
    reader.read(TEXT)
    reader.seen.forget_all()
    assert reader.seen.paths == ()
    reader.seen.note_written(PATH, "\n" * (MAX_LINES + 1))
    assert reader.seen.paths == ()
    for number in range(MAX_FILES + 1):
        reader.seen.note_written(f"/{number}", "x\n")
    assert (reader.seen.is_known("/0"), reader.seen.is_known(f"/{MAX_FILES}")) == (False, True)


def test_a_moved_file_stays_seen() -> None:
    reader = Reader()
    reader.read(TEXT)
    reader.seen.move(PATH, "/workspace/b.py")
    assert reader.seen.paths == ("/workspace/b.py",)
    assert reader.seen.unseen_lines("/workspace/b.py", TEXT) == ""


POSITIONS, COUNTS = st.integers(0, 11), st.integers(1, 6)


class EditedFile(RuleBasedStateMachine):
    """A file that its user and a model edit in turn, and a restart now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.reader = Reader()
        self.lines = [f"old {number}\n" for number in range(8)]
        self.known = set[str]()
        """The lines that the model was shown or wrote; the user's are all different."""
        self.unnoticed = set[frozenset[str]]()
        """The lines around the user's deletions that the model has not been shown since."""
        self.numbers = count()

    @property
    def text(self) -> str:
        return "".join(self.lines)

    @rule(position=POSITIONS, length=COUNTS)
    def read(self, position: int, length: int) -> None:
        shown = self.lines[position : position + length]
        if shown:
            self.reader.read(self.text, position + 1, position + len(shown))
            self.known |= set(shown)
            self.unnoticed = {each for each in self.unnoticed if not each & set(shown)}

    @rule()
    def read_whole(self) -> None:
        self.reader.read(self.text)
        self.known |= set(self.lines)
        self.unnoticed.clear()

    @rule()
    def read_what_is_cut(self) -> None:
        self.reader.note_read(self.text)
        self.reader.conversation.append(UserMessage((ToolResult("call", "(cut)"),)))
        self.reader.conversation.append(ANSWER)

    @rule(position=POSITIONS)
    def patch(self, position: int) -> None:
        if position < len(self.lines):
            before, replaced = self.text, self.lines[position]
            self.lines[position] = new = f"patched {next(self.numbers)}\n"
            self.reader.seen.note_patched(PATH, before, self.text, {new})
            self.known.add(new)
            self.unnoticed = {each for each in self.unnoticed if replaced not in each}

    @rule(position=POSITIONS, length=COUNTS)
    def user_adds(self, position: int, length: int) -> None:
        self.lines[position:position] = [f"user {next(self.numbers)}\n" for _ in range(length)]

    @rule(position=POSITIONS, length=COUNTS)
    def user_replaces(self, position: int, length: int) -> None:
        self.lines[position : position + length] = [f"user {next(self.numbers)}\n"]

    @rule(position=POSITIONS, length=COUNTS)
    def user_deletes(self, position: int, length: int) -> None:
        if position < len(self.lines):
            del self.lines[position : position + length]
            neighbors = self.lines[max(position - 1, 0) : position + 1]
            self.unnoticed.add(frozenset(neighbors))

    @rule(length=COUNTS)
    def write(self, length: int) -> None:
        seen, text = self.reader.seen, self.text
        if not (seen.unseen_lines(PATH, text) or seen.describe_change(PATH, text)):
            assert set(self.lines) <= self.known
            assert not [each for each in self.unnoticed if each <= set(self.lines)]
            self.lines = [f"written {next(self.numbers)}\n" for _ in range(length)]
            seen.note_written(PATH, self.text)
            self.known |= set(self.lines)
            self.unnoticed.clear()

    @rule()
    def restart(self) -> None:
        reader = self.reader
        reader.seen = SeenFiles(save=reader.stored.append, stored=reader.stored)
        reader.conversation = Conversation(tuple(reader.conversation), reader.seen)


TestNoTextIsReplacedThatTheModelHasNotSeen = EditedFile.TestCase


def shown(reader: Reader, text: str, lines: tuple[int, int], path: str = PATH) -> list[str]:
    """Return the runs that earlier results show, as `first-last@number there`."""
    runs = reader.seen.shown_runs(path, text, lines)
    return [f"{run.first}-{run.last}@{run.first_there}" for run in runs]


def test_lines_are_shown_until_their_result_is_shortened() -> None:
    reader = Reader()
    reader.read(LONG, 11, 30)
    assert shown(reader, LONG, (11, 30)) == ["11-30@11"]
    assert shown(reader, f"{LONG}more\n", (12, 20)) == ["12-20@12"]
    whole = f"{''.join(LONG.splitlines(keepends=True)[10:30])}\n[more]"
    reader.conversation.rebuild((UserMessage((ToolResult("call", whole),)), ANSWER))
    assert shown(reader, LONG, (11, 30)) == ["11-30@11"]
    reader.conversation.rebuild((UserMessage((ToolResult("call", "[removed]"),)), ANSWER))
    assert shown(reader, LONG, (12, 20)) == []


@pytest.mark.parametrize(
    ("text", "lines", "expected"),
    [
        (LONG, (1, 40), ["11-30@11"]),
        (LONG, (28, 40), []),  # too little to be worth a reference
        (LONG.replace("line 20 ", "line Z "), (11, 30), ["11-19@11", "21-30@21"]),
        (f"new first line\n{LONG}", (11, 31), ["12-31@11"]),
        (LONG.replace("line 20 ", "new\nline 20 "), (1, 60), ["11-19@11", "21-31@20"]),
    ],
)
def test_the_lines_that_a_result_shows_are_found_where_they_are_now(
    text: str, lines: tuple[int, int], expected: list[str]
) -> None:
    reader = Reader()
    reader.read(LONG, 11, 30)
    assert shown(reader, text, lines) == expected


def test_lines_of_several_results_are_one_run() -> None:
    reader = Reader()
    reader.read(LONG, 1, 20)
    reader.read(LONG, 21, 40)
    assert shown(reader, LONG, (5, 50)) == ["5-40@5"]


def test_other_files_and_forgotten_lines_are_not_shown() -> None:
    reader = Reader()
    reader.note_read(LONG, 11, 30)
    assert shown(reader, LONG, (11, 30)) == [], "not sent yet"
    reader.read(LONG, 11, 30)
    assert shown(reader, LONG, (11, 30), "/workspace/b.py") == []
    reader.seen.forget_all()
    assert shown(reader, LONG, (11, 30)) == []


def test_lines_that_are_read_again_at_once_are_not_referred_to_twice() -> None:
    reader = Reader()
    reader.read(LONG)
    asked = [(1, 60), (1, 60), (1, 60), (1, 30), (1, 60)]
    assert [bool(shown(reader, LONG, lines)) for lines in asked] == [
        True,
        False,
        True,
        True,
        True,
    ]

"""Fuzz targets: functions of arbitrary bytes, each with an invariant.

A target fails with an AssertionError, or with any exception that the tested code does not document.
It splits the bytes itself, so that corpus files can be read and written by hand.
"""

import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

from acp_server.jsonrpc.errors import (
    INVALID_PARAMS,
    INVALID_REQUEST,
    PARSE_ERROR,
    MalformedError,
)
from acp_server.jsonrpc.framing import Line, LineSplitter, OversizedLine
from acp_server.jsonrpc.messages import Notification, Request, encode
from acp_server.jsonrpc.parsing import find_leading_id, is_request_id, parse_message
from acp_server.memory.entry_index import digest_of, filter_known, split_known_entries
from acp_server.memory.files import MemoryFileState
from acp_server.permissions.shell.assessment import (
    assess,
    list_command_words,
    split_plain_command,
)
from acp_server.text.surrogates import repair_surrogates
from prompt_engine.memory_entries import join_entries, normalize_entry, split_entries
from skills_store.document import parse_document, validate_new_document
from skills_store.patching.changes import UpdateFile
from skills_store.patching.errors import PatchError
from skills_store.patching.hunk_application import apply_hunks
from skills_store.patching.matching import replace
from skills_store.patching.v4a import parse_patch

Target = Callable[[bytes], None]

WORKSPACE, HOME = "/code/space", "/home/user"
SEPARATOR = "\n%%%%\n"
"""Separator between the parts of an input with several parts."""


def text_of(data: bytes) -> str:
    """Decode bytes to text, possibly with lone surrogates."""
    return data.decode("utf-8", "surrogateescape" if data.endswith(b"\xff") else "replace")


def framing(data: bytes) -> None:
    """Check that lines do not depend on the chunking. Byte 1 is a limit, byte 2 a split point."""
    limit, size, stream = 9, 1, data
    if len(data) > 2:
        limit, size, stream = data[0] % 64 + 1, data[1] % 16 + 1, data[2:]
    wanted = [None if len(line) > limit else line.strip(b" \t\r") for line in stream.split(b"\n")]
    for step in {size, 1, len(stream) + 1}:
        splitter = LineSplitter(limit)
        found: list[Line] = []
        for start in range(0, len(stream), step):
            found += splitter.feed(stream[start : start + step])
        found += splitter.finish()
        lines = [None if isinstance(line, OversizedLine) else line for line in found]
        assert lines == [line for line in wanted if line != b""]


def envelope(data: bytes) -> None:
    """Check that a line is a message, silence or one error, and that a call survives rewriting."""
    line = data.replace(b"\n", b" ")
    seen = find_leading_id(line)
    assert is_request_id(seen)
    try:
        message = parse_message(line)
    except MalformedError as error:
        _check_refusal(error)
        message = None
    if isinstance(message, Request | Notification):
        written = {"jsonrpc": "2.0", "method": message.method, "params": message.params}
        if isinstance(message, Request):
            written["id"] = message.id
            head = repair_surrogates(seen) if isinstance(seen, str) else seen  # as serialized
            assert head is None or line.count(b'"id"') != 1 or head == message.id
        assert parse_message(json.dumps(written, allow_nan=False).encode()) == message


def _check_refusal(refusal: MalformedError) -> None:
    """Check that an error can be sent as a response on one line."""
    assert refusal.error.code in {PARSE_ERROR, INVALID_REQUEST, INVALID_PARAMS}
    assert is_request_id(refusal.request_id)
    assert b"\n" not in encode([refusal.request_id, refusal.error.message, refusal.error.data])


def skill(data: bytes) -> None:
    """Check that any SKILL.md can be read, and that a valid one reads without problems.

    The first line is the name of its directory.
    """
    name, _, text = text_of(data).partition("\n")
    document = parse_document(text, name)
    assert document.is_usable or document.problems
    assert not document.is_usable or document.description.strip()
    assert document.body in text.replace("\r\n", "\n") or document.body in text
    if not validate_new_document(name, text):
        assert (document.problems, document.name) == ((), name)


def patch(data: bytes) -> None:
    """Check that patches change nothing but their own hunks. The text precedes the patch."""
    text, _, patch_text = text_of(data).partition(SEPARATOR)
    try:
        changes = parse_patch(patch_text)
    except PatchError:
        return
    for change in changes:
        if isinstance(change, UpdateFile):
            _check_update(text, change)


def _check_update(text: str, change: UpdateFile) -> None:
    try:
        applied = apply_hunks(text, change.hunks)
    except PatchError:
        return
    lines = [line for hunk in change.hunks for line in hunk.lines]
    assert len(applied.lines) == len(change.hunks)
    if any("\r" in each for each in (text, *(line.text for line in lines))):
        return
    grown = sum({"+": 1, "-": -1, " ": 0}[line.sign] for line in lines if line.text.strip())
    before, after = _nonblank_lines(text), _nonblank_lines(applied.text)
    assert len(after) - len(before) == grown
    if all(line.sign != "-" for line in lines):
        rest = iter(after)
        assert all(line in rest for line in before)


def _nonblank_lines(text: str) -> list[str]:
    """Return the nonblank lines without trailing whitespace, which patches ignore."""
    return [line.rstrip() for line in text.split("\n") if line.strip()]


def replacing(data: bytes) -> None:
    """Check that a replacement keeps text outside its spans. Parts: text, old, new."""
    text, old, new = [*text_of(data).split(SEPARATOR), "", ""][:3]
    for replaces_all in (False, True):
        try:
            done = replace(text, old, new, replace_all=replaces_all)
        except PatchError:
            continue
        starts = [start for start, _ in done.spans]
        ends = [end for _, end in done.spans]
        rest = done.text
        assert starts == sorted(starts)
        for start, end in zip([0, *ends], [*starts, len(text)], strict=True):
            piece = text[start:end]
            assert piece in rest
            rest = rest[rest.index(piece) + len(piece) :]
        # All places are also those whose blanks differ.
        if text.count(old) == 1 and done.count == 1:
            assert done.text == text.replace(old, new)


def shell(data: bytes) -> None:
    """Check that a command with a write before or after it never gets the verdict `reads`."""
    command = text_of(data)
    found = assess(command, WORKSPACE, HOME)
    assert found.verdict in {"reads", "asks", "refused"}
    assert (found.reason == "") == (found.verdict == "reads")
    for hidden in (f"touch x\n{command}", f"touch x; {command}", f"rm -r x && {command}"):
        assert assess(hidden, WORKSPACE, HOME).verdict != "reads"
    if found.verdict == "reads":
        _check_read_only(command)
    words = split_plain_command(command)
    list_command_words(command)
    if words is not None and not set(command) & set("\\#$!{}~*?["):
        assert words == tuple(shlex.split(command))


def _check_read_only(command: str) -> None:
    """Check that an appended write counts, unless a here-document or comment absorbs it."""
    last = command.rsplit("\n", 1)[-1]
    if "<<" in command or "\\" in last:
        return
    assert assess(f"{command}\ntouch x", WORKSPACE, HOME).verdict != "reads"
    if "#" not in last and last.strip():
        for hiding in (" > x", " | tee x", " && touch x", " $(touch x)", "; touch x"):
            assert assess(command.rstrip() + hiding, WORKSPACE, HOME).verdict != "reads"


def memory(data: bytes) -> None:
    """Check that entries survive a file round trip, and that a manual line adds one entry."""
    text = text_of(data)
    entries = split_entries(text)
    assert all(entry and normalize_entry(entry) == entry for entry in entries)
    assert split_entries(join_entries(entries)) == entries
    alone = normalize_entry(text)
    assert split_entries(join_entries([alone])) == ((alone,) if alone else ())
    if text != repair_surrogates(text):
        return  # not encodable in a file
    state = MemoryFileState(Path("MEMORY.md"), text, data, exists=True)
    assert split_entries(state.with_entries(entries).decode("utf-8-sig")) == entries
    known = filter_known(entries, map(digest_of, entries))
    assert split_known_entries(join_entries(entries), known) == entries
    if entries and entries[-1] not in entries[:-1]:
        assert split_known_entries(f"{join_entries(entries)}\nmore", known) == (*entries, "more")


TARGETS: Mapping[str, Target] = {
    "framing": framing,
    "envelope": envelope,
    "skill": skill,
    "patch": patch,
    "replacing": replacing,
    "shell": shell,
    "memory": memory,
}
"""All targets by name, which is also the name of their corpus directory."""

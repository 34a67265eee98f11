"""Paths that the system does not let the server look at: the model is told so in plain words."""

import ctypes
import os
import stat
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import anyio
import pytest
from pydantic import JsonValue

from tests.permissions.secret_workspace import (
    RecordingUser,
    create_secret_workspace,
    open_tool_caller,
)

Call = tuple[str, Mapping[str, JsonValue]]

DENIED = "Permission denied"
CALLS: dict[str, tuple[Call, str]] = {
    "a file in a locked folder": (("read_file", {"path": "locked/in/f.txt"}), DENIED),
    "a locked folder": (("read_file", {"path": "locked"}), DENIED),
    "an edit": (
        ("patch", {"path": "locked/in/f.txt", "old_string": "x", "new_string": "y"}),
        DENIED,
    ),
    "a new file": (("write_file", {"path": "locked/in/n.txt", "content": "x"}), DENIED),
    "a search": (("search_files", {"pattern": "x", "path": "locked/in"}), DENIED),
    "a search of a locked folder": (
        ("search_files", {"pattern": "x", "path": "locked"}),
        "you have no permission to read it",
    ),
    "a search of an unreadable file": (
        ("search_files", {"pattern": "x", "path": "unreadable.txt"}),
        "you have no permission to read it",
    ),
    "a command": (("terminal", {"command": "ls", "workdir": "locked/in"}), DENIED),
    "a command in a locked folder": (
        ("terminal", {"command": "ls", "workdir": "locked"}),
        "locked cannot be entered",
    ),
    "a command in the background": (
        ("terminal", {"command": "ls", "workdir": "locked/in", "background": True}),
        DENIED,
    ),
}


@contextmanager
def without_override() -> Generator[None]:
    """Let the modes of files count for root, too, in this thread and those it starts."""
    if os.geteuid() != 0:
        yield
        return
    system = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    before, after = (ctypes.c_uint32 * 6)(), (ctypes.c_uint32 * 6)()
    for capabilities in (before, after):
        assert system.capget(header, capabilities) == 0
    # The effective ones of CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH.
    after[0] &= ~0b110
    assert system.capset(header, after) == 0
    try:
        yield
    finally:
        assert system.capset(header, before) == 0


async def _results(base: Path, calls: Sequence[Call]) -> list[str]:
    space = create_secret_workspace(base)
    space.write_file("locked/in/f.txt", "x")
    space.write_file("unreadable.txt", "x").chmod(0)
    locked = space.root / "locked"
    locked.chmod(0)
    try:
        async with open_tool_caller(space, "ask", RecordingUser("allow_once")) as caller:
            outcomes = [await caller.call(*call) for call in calls]
    finally:
        locked.chmod(stat.S_IRWXU)
    assert not [outcome.text for outcome in outcomes if not outcome.is_error]
    return [outcome.text for outcome in outcomes]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="capabilities are those of Linux")
def test_a_denied_path_is_reported_in_words(tmp_path: Path) -> None:
    with without_override():
        texts = anyio.run(_results, tmp_path, [call for call, _ in CALLS.values()])
    found = dict(zip(CALLS, texts, strict=True))
    assert not [name for name, text in found.items() if CALLS[name][1] not in text]
    assert not [text for text in texts if "Error" in text or "Errno" in text]

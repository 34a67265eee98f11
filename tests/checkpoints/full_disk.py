"""Session on a server without disk space for checkpoints, run on its own disk.

    python -m tests.checkpoints.full_disk FOLDER disk

limit

`disk`: a small disk is mounted at FOLDER/own. `limit`: for a while no file may be larger than a few
bytes. It prints nothing unless an expectation is not met.
"""

import resource
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import cast

import anyio

from tests.checkpoints.scripts import ASKING, say
from tests.support.editor import Object, at
from tests.tools.editor_session import Room, allowed, open_workroom
from tests.tools.typing_model import call

TOLD = "cannot be kept"
BLOCK_BYTES = 4096
MOST_BYTES = 150
"""File size limit: workspace files are smaller, each record is larger."""


async def play(folder: Path, fill: Callable[[], object], free: Callable[[], object]) -> None:
    """Run turns that change files before, during and after the full disk; undo them."""
    async with open_workroom(folder, answers={ASKING: allowed()}) as room:
        path = room.put("a.txt", "one\n")
        await room.run(call("write_file", path="a.txt", content="two\n"))
        fill()
        await change_unkept(room)
        said = await say(room, "/undo")
        assert "could not be saved" in said, said
        assert path.read_text() == "three\n"
        free()
        await say(room, "/undo")
        assert (path.read_text(), (room.root / "b.txt").read_text()) == ("one\n", "x\n")
        await room.run(call("terminal", command="echo four > a.txt; rm b.txt"))
        assert len(remarks(room)) == 1, remarks(room)
        await say(room, "/undo")
        assert (path.read_text(), (room.root / "b.txt").read_text()) == ("one\n", "x\n")


async def change_unkept(room: Room) -> None:
    """Run a turn that changes files; it must not fail."""
    told = await room.run(
        call("write_file", path="a.txt", content="three\n"),
        call("terminal", command="echo x > b.txt"),
    )
    assert [each.status for each in told] == ["completed"] * 2
    assert (room.root / "a.txt").read_text() == "three\n"
    assert (room.root / "b.txt").read_text() == "x\n"


def remarks(room: Room) -> list[str]:
    """Return the notices that the user received about missing checkpoints."""
    updates = cast("list[Object]", room.editor.updates_of(room.session_id))
    chunks = [each for each in updates if each["sessionUpdate"] == "agent_message_chunk"]
    return [text for each in chunks if TOLD in (text := str(at(each, "content", "text")))]


def fill(folder: Path) -> Path:
    """Fill the disk of a directory completely; return the file that takes the space."""
    path = folder / "filler"
    size = BLOCK_BYTES
    with path.open("wb", buffering=0) as file:
        while size:
            try:
                file.write(bytes(size))
            except OSError:
                size //= 2
    return path


def set_limit(limit_bytes: int) -> None:
    """Limit the file size for this process and its children."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, resource.RLIM_INFINITY))


def main(folder: Path, how: str) -> None:
    """Run the scenario on a full disk or with a file size limit."""
    own = folder / "own"
    if how == "disk":
        anyio.run(play, folder, lambda: fill(own), (own / "filler").unlink)
    else:
        limits = partial(set_limit, MOST_BYTES), partial(set_limit, resource.RLIM_INFINITY)
        anyio.run(play, folder, *limits)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])

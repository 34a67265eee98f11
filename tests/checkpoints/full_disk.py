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

from tests.checkpoints.scripts import PERMISSION_METHOD, run_slash_command
from tests.support.editor import Object, json_at
from tests.support.user_texts import COULD_NOT_BE_SAVED
from tests.tools.editor_session import ToolEditorSession, allow, open_tool_editor
from tests.tools.typing_model import call

NOTICE_TEXT = "could not be stored"
BLOCK_BYTES = 4096
MAX_FILE_BYTES = 150
"""File size limit: workspace files are smaller, each record is larger."""


async def run_scenario(
    folder: Path, fill: Callable[[], object], free: Callable[[], object]
) -> None:
    """Run turns that change files before, during and after the full disk; undo them."""
    async with open_tool_editor(folder, answers={PERMISSION_METHOD: allow()}) as session:
        path = session.write_seen_file("a.txt", "one\n")
        await session.run(call("write_file", path="a.txt", content="two\n"))
        fill()
        await change_without_checkpoint(session)
        output = await run_slash_command(session, "/undo")
        assert COULD_NOT_BE_SAVED in output, output
        assert path.read_text() == "three\n"
        free()
        await run_slash_command(session, "/undo")
        assert (path.read_text(), (session.root / "b.txt").read_text()) == ("one\n", "x\n")
        await session.run(call("terminal", command="echo four > a.txt; rm b.txt"))
        assert len(checkpoint_notices(session)) == 1, checkpoint_notices(session)
        await run_slash_command(session, "/undo")
        assert (path.read_text(), (session.root / "b.txt").read_text()) == ("one\n", "x\n")


async def change_without_checkpoint(session: ToolEditorSession) -> None:
    """Run a turn that changes files; it must not fail."""
    updates = await session.run(
        call("write_file", path="a.txt", content="three\n"),
        call("terminal", command="echo x > b.txt"),
    )
    assert [each.status for each in updates] == ["completed"] * 2
    assert (session.root / "a.txt").read_text() == "three\n"
    assert (session.root / "b.txt").read_text() == "x\n"


def checkpoint_notices(session: ToolEditorSession) -> list[str]:
    """Return the notices that the user received about missing checkpoints."""
    updates = cast("list[Object]", session.editor.updates_of(session.session_id))
    chunks = [each for each in updates if each["sessionUpdate"] == "agent_message_chunk"]
    return [
        text for each in chunks if NOTICE_TEXT in (text := str(json_at(each, "content", "text")))
    ]


def fill_disk(folder: Path) -> Path:
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
    store = folder / "own"
    if how == "disk":
        anyio.run(run_scenario, folder, lambda: fill_disk(store), (store / "filler").unlink)
    else:
        limits = partial(set_limit, MAX_FILE_BYTES), partial(set_limit, resource.RLIM_INFINITY)
        anyio.run(run_scenario, folder, *limits)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])

"""What `/undo` and `/checkpoints` report: the files by name, and the number of those not named."""

import re
import shutil
from pathlib import Path

import pytest

from acp_server.tools.edit.undo_commands import MAX_NAMED
from tests.checkpoints.scripts import PERMISSION_METHOD, run_slash_command
from tests.tools.editor_session import allow, open_tool_editor
from tests.tools.typing_model import call

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
UNCOVERED = "These files have no checkpoint and are not restored:"
ROW = re.compile(r"^\| (\d+) \| `[^`]+` \| [^|]+ \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
"""A row of `/checkpoints`: its number, the turn and the number of files."""


@pytest.mark.parametrize("more", [0, 5])
async def test_an_undo_names_twenty_files_and_counts_the_others(tmp_path: Path, more: int) -> None:
    names = [f"{number:02}" for number in range(MAX_NAMED + more)]
    logs = [f"{number:02}.log" for number in range(MAX_NAMED + 2 * more)]
    async with open_tool_editor(tmp_path, answers={PERMISSION_METHOD: allow()}) as session:
        session.write_file(".gitignore", "*.log\n")
        for name in logs:
            session.write_file(name, "old\n")
        await session.run(call("terminal", command=f"touch {' '.join(names)}; rm *.log"))
        output = await run_slash_command(session, "/undo")
        listed = await run_slash_command(session, "/checkpoints")
        again = await run_slash_command(session, "/undo 2")
    restored, uncovered, *lines = output.splitlines()
    shown = ", ".join(f"`{name}`" for name in names[:MAX_NAMED])
    shown += f" and {more} more" if more else ""
    assert restored == f"Restored to before “go”: {shown}. Use `/checkpoints` to reverse this."
    assert uncovered == UNCOVERED
    assert [line.partition(":")[0] for line in lines[:MAX_NAMED]] == [
        f"- `{name}`" for name in logs[:MAX_NAMED]
    ]
    assert lines[MAX_NAMED:] == ([f"- and {2 * more} more"] if more else [])
    assert ROW.findall(listed) == [
        ("1", "Undo of “go”", f"{len(names)}"),
        ("2", "go (undone)", f"{len(names)}, {len(logs)} without checkpoint"),
    ]
    assert again.startswith("All files are already as they were before “go”.\n")

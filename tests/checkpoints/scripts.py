"""Workspaces with all kinds of files, and random turns that change them by tools and shell."""

import json
import os
import shlex
import stat
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import cast

from acp_server.turn.conversation import ToolCall
from tests.support.editor import Object, json_at
from tests.tools.editor_session import Answer, EditorRefusedError, ToolEditorSession
from tests.tools.typing_model import call

PERMISSION_METHOD = "session/request_permission"
Entry = tuple[str, bytes, int]
"""A file: its kind, its content or link target, its permission bits."""

NAMES = ("a.txt", "b c.txt", "sub/d.py", "sub/deep/e.bin", "sub/ü.md", "g", "run.sh", "x/y/z.css")
CONTENTS: tuple[bytes, ...] = (
    b"",
    b"one\ntwo\nthree\n",
    b"one\r\ntwo\r\n",
    b"\xef\xbb\xbfmarked\r\nlines\r\n",
    b"mixed\r\nlines\nno end",
    "grüße, 日本語\n".encode(),
    "grüße\n".encode("latin-1"),
    bytes(range(256)) * 5,
    b"\x89PNG\r\n\x1a\n\0\0",
)
MODES = (0o644, 0o755, 0o600, 0o444)


def fill_workspace(root: Path, random: Random) -> None:
    """Fill a workspace with files."""
    for name in NAMES:
        if random.random() < 0.8:
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(random.choice(CONTENTS))
            path.chmod(random.choice(MODES))
    (root / "link").symlink_to(random.choice(["a.txt", "sub", "nowhere"]))
    (root / "empty").mkdir()


def entries(root: Path) -> dict[str, Entry]:
    """Return all files of a directory, and its subdirectories as entries without content."""
    found: dict[str, Entry] = {}
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(folder, name)
            status = path.lstat()
            if stat.S_ISLNK(status.st_mode):
                entry = ("link", os.fsencode(path.readlink()), 0)
            elif stat.S_ISDIR(status.st_mode):
                entry = ("folder", b"", 0)
            else:
                entry = ("file", path.read_bytes(), stat.S_IMODE(status.st_mode))
            found[path.relative_to(root).as_posix()] = entry
    return found


def files_of(found: dict[str, Entry]) -> dict[str, Entry]:
    """Return only the files."""
    return {name: entry for name, entry in found.items() if entry[0] != "folder"}


def random_calls(random: Random) -> list[ToolCall]:
    """Return the random calls of a turn."""
    choices: tuple[Callable[[Random], ToolCall], ...] = (_written, _moved, _deleted, _shell, _shell)
    return [random.choice(choices)(random) for _ in range(random.randint(1, 5))]


def _written(random: Random) -> ToolCall:
    name = random.choice((*NAMES, "new/folder/n.txt", "link"))
    return call("write_file", path=name, content=f"written {random.random()}\nby a tool\n")


def _moved(random: Random) -> ToolCall:
    old, new = random.choice(NAMES), random.choice((*NAMES, "moved/m.txt"))
    patch = f"*** Begin Patch\n*** Update File: {old}\n*** Move to: {new}\n*** End Patch\n"
    return call("patch", mode="patch", patch=patch)


def _deleted(random: Random) -> ToolCall:
    name = random.choice((*NAMES, "link"))
    patch = f"*** Begin Patch\n*** Delete File: {name}\n*** End Patch\n"
    return call("patch", mode="patch", patch=patch)


def _shell(random: Random) -> ToolCall:
    one, other = (shlex.quote(name) for name in random.sample(NAMES, 2))
    command = random.choice(
        [
            f"rm -f {one} {other}",
            f"mv -f {one} {other}",
            f"cp -p {one} copy; chmod 751 {other}",
            f"printf '\\000\\001{random.random()}' >> {one}",
            f"chmod 600 {one}; chmod 755 {other}",
            "rm -rf sub; echo now a file > sub",
            "mv sub elsewhere",
            f"rm -f link; ln -s {one} link",
            f"rm -f {one}; ln -s /etc/hostname {one}",
            f"mkdir -p made/of/many; echo {random.random()} > made/of/many/f",
            f"rm -f {one}; mkdir {one}; echo in > {one}/inner",
            "rm -rf x; mkdir x; ln -s ../sub x/y",
            "find . -name '*.txt' -exec sh -c 'echo more >> \"$1\"' _ {} ';'",
        ]
    )
    return call("terminal", command=command)


def faithful_answers() -> dict[str, Answer]:
    """Return the answers of an editor that reads and saves files unchanged."""

    def read(params: Object) -> Object:
        try:
            return {"content": Path(str(params["path"])).read_bytes().decode()}
        except (OSError, UnicodeDecodeError) as error:
            raise EditorRefusedError(str(error)) from None

    def write(params: Object) -> Object:
        path = Path(str(params["path"]))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(str(params["content"]).encode())
        except OSError as error:
            raise EditorRefusedError(str(error)) from None
        return {}

    return {"fs/read_text_file": read, "fs/write_text_file": write}


async def run_slash_command(session: ToolEditorSession, text: str) -> str:
    """Send a prompt that is a slash command, and return its output."""
    before = len(session.editor.updates_of(session.session_id))
    assert await session.editor.prompt(session.session_id, text) == {"stopReason": "end_turn"}
    updates = cast("list[Object]", session.editor.updates_of(session.session_id)[before:])
    chunks = [each for each in updates if each["sessionUpdate"] == "agent_message_chunk"]
    return "".join(str(json_at(each, "content", "text")) for each in chunks)


def describe(calls: list[ToolCall]) -> str:
    """Return the calls as text for an assertion message."""
    return "\n".join(f"{each.name} {json.loads(each.arguments)}" for each in calls)

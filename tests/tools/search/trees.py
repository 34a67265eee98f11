"""Small trees to search, and short ways to search them."""

from dataclasses import replace
from pathlib import Path
from typing import TypedDict, Unpack

from acp_server.tools.search.query import Found, OutputMode, Query, Target
from acp_server.tools.search.searching import search


class Rest(TypedDict, total=False):
    """What a query may say beyond its pattern."""

    root: Path
    target: Target
    file_glob: str | None
    limit: int
    offset: int
    output_mode: OutputMode
    context: int


def plant(folder: Path, files: dict[str, str | bytes]) -> Path:
    """Write files, with the folders they need."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def plant_many(folder: Path, count: int) -> Path:
    """Write files of 40 lines, a hundred to a folder, one of which has a word of its own."""
    text = "import os\n\n\ndef function():\n    return os.name\n" * 8
    for index in range(count):
        if index % 100 == 0:
            (folder / f"folder_{index // 100:04}").mkdir(parents=True)
        path = folder / f"folder_{index // 100:04}" / f"module_{index % 100:02}.py"
        path.write_text(f"{text}needle_{index}\n", encoding="utf-8")
    return folder


async def find(workspace: Path, pattern: str, **rest: Unpack[Rest]) -> Found:
    """Search a workspace, all of it unless a root is given."""
    return await search(replace(Query(pattern, workspace), **rest), workspace)


async def text_of(workspace: Path, pattern: str, **rest: Unpack[Rest]) -> str:
    """Return what the model reads."""
    return (await find(workspace, pattern, **rest)).text

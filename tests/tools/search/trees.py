"""Small directory trees to search, and shortcuts to search them."""

from dataclasses import replace
from pathlib import Path
from typing import TypedDict, Unpack

from acp_server.tools.search.query import FileSearchQuery, OutputMode, SearchResult, SearchTarget
from acp_server.tools.search.search import search


class QueryOptions(TypedDict, total=False):
    """Optional parameters of a query."""

    root: Path
    target: SearchTarget
    file_glob: str | None
    limit: int
    offset: int
    output_mode: OutputMode
    context: int


def write_tree(folder: Path, files: dict[str, str | bytes]) -> Path:
    """Write files and create their directories."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def write_many_files(folder: Path, count: int) -> Path:
    """Write files of 40 lines, a hundred per directory; one file contains a unique word."""
    text = "import os\n\n\ndef function():\n    return os.name\n" * 8
    for index in range(count):
        if index % 100 == 0:
            (folder / f"folder_{index // 100:04}").mkdir(parents=True)
        path = folder / f"folder_{index // 100:04}" / f"module_{index % 100:02}.py"
        path.write_text(f"{text}needle_{index}\n", encoding="utf-8")
    return folder


async def find(workspace: Path, pattern: str, **rest: Unpack[QueryOptions]) -> SearchResult:
    """Search a workspace, or the given root in it."""
    return await search(replace(FileSearchQuery(pattern, workspace), **rest), workspace)


async def text_of(workspace: Path, pattern: str, **rest: Unpack[QueryOptions]) -> str:
    """Return the result text for the model."""
    return (await find(workspace, pattern, **rest)).text

"""Workspace in a temporary directory with its file service, and editors to try it with."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from acp_server.session.ports.editor import EditorPort
from acp_server.session.workspace import SessionWorkspace
from acp_server.tools.files.file_service import FileService
from acp_server.tools.files.snapshot import FileSnapshot
from tests.support.fake_editors import (
    FormattingEditor,
    LineFeedEditor,
    NewlineKeepingEditor,
    NonSavingEditor,
    NullEditor,
    ReadOnlyEditor,
    VerbatimEditor,
    WriteOnlyEditor,
)

SAVING_EDITORS: list[Callable[[], EditorPort]] = [
    NullEditor,
    VerbatimEditor,
    NewlineKeepingEditor,
    LineFeedEditor,
    FormattingEditor,
    WriteOnlyEditor,
    ReadOnlyEditor,
]
"""Editors that write text to disk. They accept requests for any file."""

ALL_EDITORS = [*SAVING_EDITORS, NonSavingEditor]


def name_of(make: Callable[[], EditorPort]) -> str:
    return getattr(make, "__name__", "editor")


@dataclass(frozen=True, slots=True)
class FileServiceSetup:
    """File service with its directories: `root` is the workspace, `outside` is next to it."""

    root: Path
    outside: Path
    files: FileService

    def write_file(self, name: str, data: bytes | str, mode: int = 0o644) -> Path:
        """Write a workspace file directly, bypassing service and editor."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        path.chmod(mode)
        return path

    async def read_if_exists(self, name: str | Path) -> FileSnapshot | None:
        return await self.files.read_if_exists(await self.files.resolve(str(name)))

    async def read(self, name: str | Path) -> FileSnapshot:
        return await self.files.read(await self.files.resolve(str(name)))

    async def text(self, name: str | Path) -> str:
        return (await self.read(name)).text

    async def write(self, name: str | Path, text: str) -> FileSnapshot:
        """Write a file over the snapshot just read."""
        path = await self.files.resolve(str(name))
        return await self.files.write(path, text, await self.files.read_if_exists(path))

    async def edit(self, name: str | Path, old: str, new: str) -> FileSnapshot:
        """Read, replace and write a file in one call."""
        path = await self.files.resolve(str(name))
        async with self.files.lock([path.path]):
            base = await self.files.read_if_exists(path)
            assert base is not None
            return await self.files.write(path, base.text.replace(old, new), base)


def create_fresh_service(folder: Path, editor: EditorPort | None = None) -> FileServiceSetup:
    """Create a service in a new directory inside a folder, for cases that share the folder."""
    return create_service(Path(tempfile.mkdtemp(dir=folder)), editor)


def create_service(
    folder: Path, editor: EditorPort | None = None, timeout_seconds: float = 10
) -> FileServiceSetup:
    root, outside = folder / "workspace", folder / "outside"
    for directory in (root, outside):
        directory.mkdir(parents=True)
    files = FileService(
        SessionWorkspace(root), editor or NullEditor(), folder / "home", timeout_seconds
    )
    return FileServiceSetup(root, outside, files)

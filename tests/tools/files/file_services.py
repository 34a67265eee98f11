"""Workspace in a temporary directory with its file service, and editors to try it with."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from acp_server.session.ports.editor import Editor, NoEditor
from acp_server.session.session import Workspace
from acp_server.tools.files.desk import FileDesk
from acp_server.tools.files.snapshot import Snapshot, Written
from tests.support.fake_editors import (
    BlindEditor,
    FaithfulEditor,
    FormattingEditor,
    HandlessEditor,
    LineFeedEditor,
    PlainEditor,
    UnsavingEditor,
)

SAVING: list[Callable[[], Editor]] = [
    NoEditor,
    FaithfulEditor,
    PlainEditor,
    LineFeedEditor,
    FormattingEditor,
    BlindEditor,
    HandlessEditor,
]
"""Editors that write text to disk. They accept requests for any file."""

ALL = [*SAVING, UnsavingEditor]


def name_of(make: Callable[[], Editor]) -> str:
    return getattr(make, "__name__", "editor")


@dataclass(frozen=True, slots=True)
class Desk:
    """File service with its directories: `root` is the workspace, `outside` is next to it."""

    root: Path
    outside: Path
    files: FileDesk

    def put(self, name: str, data: bytes | str, mode: int = 0o644) -> Path:
        """Write a workspace file directly, bypassing service and editor."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        path.chmod(mode)
        return path

    async def look(self, name: str | Path) -> Snapshot | None:
        return await self.files.look(await self.files.place(str(name)))

    async def read(self, name: str | Path) -> Snapshot:
        return await self.files.read(await self.files.place(str(name)))

    async def text(self, name: str | Path) -> str:
        return (await self.read(name)).text

    async def write(self, name: str | Path, text: str) -> Written:
        """Write a file over the snapshot just read."""
        place = await self.files.place(str(name))
        return await self.files.write(place, text, await self.files.look(place))

    async def edit(self, name: str | Path, old: str, new: str) -> Written:
        """Read, replace and write a file in one call."""
        place = await self.files.place(str(name))
        async with self.files.holding([place.path]):
            base = await self.files.look(place)
            assert base is not None
            return await self.files.write(place, base.text.replace(old, new), base)


def desk_in(folder: Path, editor: Editor | None = None, patience_seconds: float = 10) -> Desk:
    root, outside = folder / "workspace", folder / "outside"
    for made in (root, outside):
        made.mkdir(parents=True)
    files = FileDesk(Workspace(root), editor or NoEditor(), folder / "home", patience_seconds)
    return Desk(root, outside, files)

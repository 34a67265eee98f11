"""Checkpoint manager over temporary directories, and turns that change files."""

import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from acp_server.checkpoints.config import CheckpointConfig
from acp_server.checkpoints.manager import BackgroundTask, CheckpointManager, SnapshotScope
from acp_server.checkpoints.records import TurnRecord
from acp_server.session.checkpoint_ids import CheckpointIds

PATH = "/usr/bin:/bin:/usr/local/bin:/opt/homebrew/bin"
HAS_GIT = shutil.which("git", path=PATH) is not None


@dataclass(slots=True)
class CheckpointSetup:
    """Workspace, the server's own directory, and the notices to the user."""

    root: Path
    config_home: Path
    manager: CheckpointManager
    notices: list[str] = field(default_factory=list[str])

    async def run_command(self, act: Callable[[], object]) -> TurnRecord | None:
        """Run a command in a turn; `act` does its work. Return the record, if there is one."""
        async with self.manager.turn("go"):
            await self.manager.before_command()
            act()
        return next(iter(await self.manager.records()), None)

    def write_file(self, name: str, content: str | bytes = "text\n") -> Path:
        """Create a file."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def git(self, *arguments: str) -> str:
        """Run git in the workspace as the user."""
        identity = ("-c", "user.name=A", "-c", "user.email=a@example.org")
        command = ("git", *identity, *arguments)
        done = subprocess.run(command, cwd=self.root, check=True, capture_output=True, text=True)
        return done.stdout

    def changed_names(self, record: TurnRecord | None) -> set[str]:
        """Return the names of the files that a turn changed."""
        changes = record.changes if record else ()
        return {Path(each.path).relative_to(self.root).as_posix() for each in changes}

    def omitted(self, record: TurnRecord | None) -> dict[str, str]:
        """Return the names of omitted files, with the reason."""
        found = record.omitted.items() if record else ()
        return {p and Path(p).relative_to(self.root).as_posix(): why for p, why in found}


def create_setup(
    folder: Path,
    config: CheckpointConfig | None = None,
    path: str = PATH,
    session: str = "s",
    spawn: Callable[[BackgroundTask], None] | None = None,
) -> CheckpointSetup:
    """Create a setup in a directory; setups in the same one share all but the session."""
    root, data = folder / "workspace", folder / "own"
    for made in (root, data):
        made.mkdir(exist_ok=True)
    sent: list[str] = []
    scope = SnapshotScope(session, (root,), data, {"PATH": path}, CheckpointIds().create)
    return CheckpointSetup(
        root, data, CheckpointManager(scope, config or CheckpointConfig(), sent.append, spawn), sent
    )

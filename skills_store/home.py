"""Paths of a user's skills and the data about them. Reads no files."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from skills_store.locks import locked


@dataclass(frozen=True, slots=True)
class AgentHome:
    """The agent's home directory (`~/.hermes` by default)."""

    folder: Path

    @property
    def skills(self) -> Path:
        """The user's skills: the only directory in which every action is allowed."""
        return self.folder / "skills"

    @property
    def bundled_manifest(self) -> Path:
        """Names of the skills that Hermes copied there."""
        return self.skills / ".bundled_manifest"

    @property
    def hub_lock(self) -> Path:
        """Skills installed from the Hermes hub."""
        return self.skills / ".hub" / "lock.json"

    @property
    def installed(self) -> Path:
        """Skills installed by `acp-server skills install`."""
        return self.folder / "acp" / "installed.json"

    @property
    def replaced_skills(self) -> Path:
        """Versions of installed skills from before their last update."""
        return self.folder / "acp" / "skill_updates"

    @property
    def running_updates(self) -> Path:
        """Skills that an update has moved away, until the new version is in place."""
        return self.folder / "acp" / "skill_updates_running"

    @property
    def undo(self) -> Path:
        """Copies of skills from before background runs."""
        return self.folder / "acp" / "skill_undo"

    @property
    def backups(self) -> Path:
        """Backups of the whole skills directory."""
        return self.folder / "acp" / "curator" / "snapshots"

    @contextmanager
    def locked(self) -> Generator[None]:
        """Hold the lock that every change of skills needs. Blocks.

        Raises:
            LockedError: Another process holds it past the timeout.
            OSError: The lock file cannot be created.
        """
        lock = self.folder / "acp" / "skills"
        lock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with locked(lock):
            yield

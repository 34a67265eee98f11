"""Where the skills of a user are, and what is kept about them beside. Reads nothing itself."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from skills_store.locks import locked


@dataclass(frozen=True, slots=True)
class Home:
    """The folder that an agent keeps what is its own in."""

    folder: Path

    @property
    def skills(self) -> Path:
        """The user's skills: the only folder that everything may be done in."""
        return self.folder / "skills"

    @property
    def bundled_manifest(self) -> Path:
        """The names of those that Hermes put there itself."""
        return self.skills / ".bundled_manifest"

    @property
    def hub_lock(self) -> Path:
        """Those that came from its hub."""
        return self.skills / ".hub" / "lock.json"

    @property
    def installed(self) -> Path:
        """Those that our own command installed."""
        return self.folder / "acp" / "installed.json"

    @property
    def undo(self) -> Path:
        """What passes changed, as it was before."""
        return self.folder / "acp" / "skill_undo"

    @property
    def snapshots(self) -> Path:
        """Copies of the whole folder of skills."""
        return self.folder / "acp" / "curator" / "snapshots"

    @contextmanager
    def locked(self) -> Generator[None]:
        """Hold the one lock under which skills are changed. Blocks.

        Raises:
            LockedError: another process has it and does not give it back.
            OSError: it cannot be made.
        """
        lock = self.folder / "acp" / "skills"
        lock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with locked(lock):
            yield

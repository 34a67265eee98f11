"""The skills of all sessions of a process: shelves that are shared, and the rules for all.

Sessions share a shelf when they have the same roots: all whose workspace brings no skills, or is
not trusted, have one together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import skills_store
from acp_server.permissions.trust import ContentTrust, TrustStore
from acp_server.session.readings import Readings
from acp_server.session.watch import FolderWatch
from acp_server.skills.rules import SkillRules
from acp_server.skills.shelf import Reader, Shelf
from skills_store import (
    Circumstances,
    IndexCache,
    Library,
    Places,
    Root,
    circumstances_of,
    roots_of,
)
from skills_store.collection import names_in
from skills_store.home import Home
from skills_store.roots import WORKSPACE_FOLDERS
from skills_store.usage import Usage

BUNDLED = Path(skills_store.__file__).parent / "bundled"
SETUP_SKILL = "configure-acp-server"
SERVER_MARK = "__"
"""Stands behind the server in the name of each tool of an MCP server, and in no other name."""


@dataclass(slots=True)
class SkillRoom:
    """Where skills come from, and who has them."""

    home: Path
    """HERMES_HOME."""
    user_home: Path
    rules: SkillRules = field(default_factory=SkillRules)
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    """What a command of the model's would find."""
    watch: FolderWatch | None = None
    bundled: Path = BUNDLED
    settled_trust: bool | None = None
    """Whether all workspaces are trusted, where somebody has settled that beforehand."""
    usage: Usage = field(init=False)
    content_trust: ContentTrust = field(init=False)
    """Which texts the user allows that would be kept from the model."""
    index_readings: Readings[tuple[str] | None] = field(init=False)
    brought_readings: Readings[tuple[Sequence[str]] | None] = field(init=False)
    _trust: TrustStore = field(init=False)
    _indexes: IndexCache = field(default_factory=IndexCache, init=False)
    _shelves: dict[Path | None, Shelf] = field(default_factory=dict[Path | None, Shelf], init=False)

    def __post_init__(self) -> None:
        """Prepare; nothing is read yet."""
        self.usage = Usage(Home(self.home).skills)
        self.index_readings, self.brought_readings = Readings(), Readings()
        self._trust = TrustStore(self.home / "acp" / "trust.json")
        self.content_trust = ContentTrust(self.home / "acp" / "context_trust.json")

    def is_trusted(self, workspace: Path) -> bool:
        """Whether the user trusts a workspace. Blocks; looks each time."""
        if self.settled_trust is not None:
            return self.settled_trust
        return self._trust.verdict(workspace) == "trusted"

    def roots(self, workspace: Path | None) -> Sequence[Root]:
        """Return the roots, with those of a workspace that is trusted. Blocks."""
        places = Places(
            self.home, self.user_home, self.bundled, workspace, external=self.rules.external
        )
        return roots_of(places)

    def brought(self, workspace: Path) -> Sequence[str]:
        """Return the names of a workspace's own skills, trusted or not. Blocks."""
        roots = [Root("workspace", workspace / name) for name in WORKSPACE_FOLDERS]
        return names_in(Library(lambda: roots).skills())

    def circumstances(self, tools: frozenset[str] | None) -> Circumstances:
        """Return what decides on which skills a session sees; None: its tools are not known."""
        if tools is None:
            return Circumstances(disabled=self.rules.disabled)
        servers = {name.partition(SERVER_MARK)[0] for name in tools if SERVER_MARK in name}
        return circumstances_of(tools, servers, self.rules.disabled)

    def shelf(self, workspace: Path | None) -> Shelf:
        """Return the shelf of a trusted workspace, or of none, without reading in it."""
        shelf = self._shelves.get(workspace)
        if shelf is None:
            shelf = Shelf(self.home, lambda: self.roots(workspace), self._indexes, self.watch)
            self._shelves[workspace] = shelf
        return shelf

    async def join(self, workspace: Path | None, reader: Reader) -> Shelf:
        """Return the shelf of a trusted workspace, or of none; the reader is told of changes."""
        shelf = self.shelf(workspace)
        await shelf.join(reader)
        return shelf

    def leave(self, shelf: Shelf, reader: Reader) -> None:
        """Tell a reader no more; a shelf without any is forgotten."""
        if shelf.leave(reader):
            self._shelves = {key: each for key, each in self._shelves.items() if each is not shelf}

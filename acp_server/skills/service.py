"""Skills of all sessions of a process: shared skill roots and common settings.

Sessions with the same roots share them; all sessions whose workspace has no skills, or is not
trusted, share one set.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import skills_store
from acp_server.permissions.trust import ContentTrust, TrustStore
from acp_server.session.prompting.file_watch import FolderWatch
from acp_server.session.prompting.single_flight import Readings
from acp_server.skills.config import SkillRules
from acp_server.skills.skill_roots import Reader, Shelf
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
"""Separates server and tool in the name of an MCP tool; no other tool name contains it."""


@dataclass(slots=True)
class SkillRoom:
    """Skill service of a process: the roots of skills, and the sessions that use them."""

    home: Path
    """HERMES_HOME."""
    user_home: Path
    rules: SkillRules = field(default_factory=SkillRules)
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    """Environment of commands that the model runs."""
    watch: FolderWatch | None = None
    bundled: Path = BUNDLED
    settled_trust: bool | None = None
    """Fixed trust for all workspaces, if the run was started with one."""
    usage: Usage = field(init=False)
    content_trust: ContentTrust = field(init=False)
    """Blocked texts that the user allows."""
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
        """Return whether the user trusts a workspace. Blocks; reads the decision each time."""
        if self.settled_trust is not None:
            return self.settled_trust
        return self._trust.verdict(workspace) == "trusted"

    def roots(self, workspace: Path | None) -> Sequence[Root]:
        """Return the roots, including those of a workspace, which must be trusted. Blocks."""
        places = Places(
            self.home, self.user_home, self.bundled, workspace, external=self.rules.external
        )
        return roots_of(places)

    def brought(self, workspace: Path) -> Sequence[str]:
        """Return the names of a workspace's own skills, trusted or not. Blocks."""
        roots = [Root("workspace", workspace / name) for name in WORKSPACE_FOLDERS]
        return names_in(Library(lambda: roots).skills())

    def circumstances(self, tools: frozenset[str] | None) -> Circumstances:
        """Return the facts that decide which skills a session sees; None: its tools are unknown."""
        if tools is None:
            return Circumstances(disabled=self.rules.disabled)
        servers = {name.partition(SERVER_MARK)[0] for name in tools if SERVER_MARK in name}
        return circumstances_of(tools, servers, self.rules.disabled)

    def shelf(self, workspace: Path | None) -> Shelf:
        """Return the skill roots of a trusted workspace, or those without one; nothing is read."""
        shelf = self._shelves.get(workspace)
        if shelf is None:
            shelf = Shelf(self.home, lambda: self.roots(workspace), self._indexes, self.watch)
            self._shelves[workspace] = shelf
        return shelf

    async def join(self, workspace: Path | None, reader: Reader) -> Shelf:
        """Return the skill roots of a trusted workspace, or those without one, and subscribe."""
        shelf = self.shelf(workspace)
        await shelf.join(reader)
        return shelf

    def leave(self, shelf: Shelf, reader: Reader) -> None:
        """Unsubscribe a reader; roots without readers are dropped."""
        if shelf.leave(reader):
            self._shelves = {key: each for key, each in self._shelves.items() if each is not shelf}

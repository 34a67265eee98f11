"""Skills of all sessions of a process: shared skill roots and common settings.

Sessions with the same roots share them; all sessions whose workspace has no skills, or is not
trusted, share one set.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from anyio import to_thread

import skills_store
from acp_server.permissions.trust import ContentTrust, TrustStore
from acp_server.session.prompting.file_watch import FileWatch
from acp_server.session.prompting.single_flight import SingleFlight
from acp_server.skills.config import SkillConfig
from acp_server.skills.skill_roots import ChangeListener, SkillRoots
from skills_store.collection import names_in
from skills_store.home import AgentHome
from skills_store.index_cache import IndexCache
from skills_store.library import SkillLibrary
from skills_store.roots import WORKSPACE_FOLDERS, resolve_roots
from skills_store.skill import SkillRoot
from skills_store.usage import SkillUsageStore
from skills_store.visibility import VisibilityFacts, visibility_facts

logger = logging.getLogger(__name__)

BUNDLED = Path(skills_store.__file__).parent / "bundled"
SETUP_SKILL = "configure-acp-server"
MCP_SEPARATOR = "__"
"""Separates server and tool in the name of an MCP tool; no other tool name contains it."""


@dataclass(slots=True)
class SkillService:
    """Skill service of a process: the roots of skills, and the sessions that use them."""

    home: Path
    """HERMES_HOME."""
    user_home: Path
    config: SkillConfig = field(default_factory=SkillConfig)
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    """Environment of commands that the model runs."""
    watch: FileWatch | None = None
    bundled: Path = BUNDLED
    fixed_trust: bool | None = None
    """Fixed trust for all workspaces, if the run was started with one."""
    usage: SkillUsageStore = field(init=False)
    content_trust: ContentTrust = field(init=False)
    """Blocked texts that the user allows."""
    index_reads: SingleFlight[tuple[str] | None] = field(init=False)
    workspace_reads: SingleFlight[tuple[Sequence[str]] | None] = field(init=False)
    _trust: TrustStore = field(init=False)
    _has_recovered: bool = field(default=False, init=False)
    _indexes: IndexCache = field(default_factory=IndexCache, init=False)
    _roots_by_workspace: dict[Path | None, SkillRoots] = field(
        default_factory=dict[Path | None, SkillRoots], init=False
    )

    def __post_init__(self) -> None:
        """Prepare; nothing is read yet."""
        self.usage = SkillUsageStore(AgentHome(self.home).skills)
        self.index_reads, self.workspace_reads = SingleFlight(), SingleFlight()
        self._trust = TrustStore(self.home / "acp" / "trust.json")
        self.content_trust = ContentTrust(self.home / "acp" / "context_trust.json")

    def is_trusted(self, workspace: Path) -> bool:
        """Return whether the user trusts a workspace. Blocks; reads the decision each time."""
        if self.fixed_trust is not None:
            return self.fixed_trust
        return self._trust.verdict(workspace) == "trusted"

    def roots(self, workspace: Path | None) -> Sequence[SkillRoot]:
        """Return the roots, including those of a workspace, which must be trusted. Blocks."""
        external = tuple(path.absolute() for path in self.config.external)
        return resolve_roots(self.home, self.user_home, self.bundled, workspace, external)

    def workspace_skill_names(self, workspace: Path) -> Sequence[str]:
        """Return the names of a workspace's own skills, trusted or not. Blocks."""
        roots = [SkillRoot("workspace", workspace / name) for name in WORKSPACE_FOLDERS]
        return names_in(SkillLibrary(lambda: roots).skills())

    def visibility_facts(self, tools: frozenset[str] | None) -> VisibilityFacts:
        """Return the facts that decide which skills a session sees; None: its tools are unknown."""
        if tools is None:
            return VisibilityFacts(disabled=self.config.disabled_names)
        servers = {name.partition(MCP_SEPARATOR)[0] for name in tools if MCP_SEPARATOR in name}
        return visibility_facts(tools, servers, self.config.disabled_names)

    def skill_roots(self, workspace: Path | None) -> SkillRoots:
        """Return the skill roots of a trusted workspace, or those without one; nothing is read."""
        skill_roots = self._roots_by_workspace.get(workspace)
        if skill_roots is None:
            skill_roots = SkillRoots(
                self.home, lambda: self.roots(workspace), self._indexes, self.watch
            )
            self._roots_by_workspace[workspace] = skill_roots
        return skill_roots

    async def subscribe(self, workspace: Path | None, listener: ChangeListener) -> SkillRoots:
        """Return the skill roots of a trusted workspace, or those without one, and subscribe."""
        if not self._has_recovered:
            self._has_recovered = True
            await to_thread.run_sync(self._recover_updates)
        skill_roots = self.skill_roots(workspace)
        skill_roots.subscribe(listener)
        return skill_roots

    def _recover_updates(self) -> None:
        """Finish updates of skills whose process died."""
        home = AgentHome(self.home)
        if not home.running_updates.exists():
            return
        from skills_store.install import recover_updates

        try:
            names = recover_updates(home)
        except OSError as error:
            logger.warning("an unfinished update of a skill remains: %s", error)
        else:
            if names:
                logger.info("finished or took back updates of skills: %s", ", ".join(names))

    def unsubscribe(self, skill_roots: SkillRoots, listener: ChangeListener) -> None:
        """Unsubscribe a reader; roots without readers are dropped."""
        if skill_roots.unsubscribe(listener):
            self._roots_by_workspace = {
                key: each
                for key, each in self._roots_by_workspace.items()
                if each is not skill_roots
            }

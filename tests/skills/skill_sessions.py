"""Skills of a session in test directories, without a server."""

from pathlib import Path

from acp_server.permissions.trust import TrustStore
from acp_server.session.prompting.file_watch import FileWatch
from acp_server.skills.config import SkillConfig
from acp_server.skills.service import SkillService
from acp_server.skills.session_skills import SessionSkills

TOOLS = frozenset({"read_file", "skills_list", "skill_view", "skill_manage"})


def make_skill_service(
    directory: Path, config: SkillConfig | None = None, watch: FileWatch | None = None
) -> SkillService:
    """Return a skill service with HERMES_HOME at `home` in a directory, without bundled skills."""
    return SkillService(
        home=directory / "home",
        user_home=directory / "user",
        config=config or SkillConfig(),
        watch=watch,
        bundled=directory / "bundled",
    )


def make_session_skills(
    directory: Path,
    config: SkillConfig | None = None,
    watch: FileWatch | None = None,
    service: SkillService | None = None,
) -> SessionSkills:
    """Return the skills of a session whose workspace is `project` in a directory."""
    workspace = directory / "project"
    workspace.mkdir(exist_ok=True)
    return SessionSkills(service or make_skill_service(directory, config, watch), "s-1", workspace)


def set_trust(folder: Path, *, is_trusted: bool = True) -> None:
    """Record whether the workspace is trusted."""
    store = TrustStore(folder / "home/acp/trust.json")
    store.save(folder / "project", "trusted" if is_trusted else "declined")

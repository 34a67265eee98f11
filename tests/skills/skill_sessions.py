"""Skills of a session in test directories, without a server."""

from pathlib import Path

from acp_server.permissions.trust import TrustStore
from acp_server.session.prompting.file_watch import FolderWatch
from acp_server.skills.config import SkillRules
from acp_server.skills.service import SkillRoom
from acp_server.skills.session_skills import SessionSkills

TOOLS = frozenset({"read_file", "skills_list", "skill_view", "skill_manage"})


def room_in(
    folder: Path, rules: SkillRules | None = None, watch: FolderWatch | None = None
) -> SkillRoom:
    """Return a skill service with HERMES_HOME at `home` in a directory, without bundled skills."""
    return SkillRoom(
        home=folder / "home",
        user_home=folder / "user",
        rules=rules or SkillRules(),
        watch=watch,
        bundled=folder / "bundled",
    )


def skills_in(
    folder: Path,
    rules: SkillRules | None = None,
    watch: FolderWatch | None = None,
    room: SkillRoom | None = None,
) -> SessionSkills:
    """Return the skills of a session whose workspace is `project` in a directory."""
    workspace = folder / "project"
    workspace.mkdir(exist_ok=True)
    return SessionSkills(room or room_in(folder, rules, watch), "s-1", workspace)


def trust(folder: Path, *, is_trusted: bool = True) -> None:
    """Record whether the workspace is trusted."""
    store = TrustStore(folder / "home/acp/trust.json")
    store.say(folder / "project", "trusted" if is_trusted else "declined")

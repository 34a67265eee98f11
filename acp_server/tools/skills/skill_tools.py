"""The three skill tools together, for a session or for a background review of one."""

from collections.abc import Sequence
from pathlib import Path

from acp_server.permissions.gate import Gate
from acp_server.skills.access import SkillAccess
from acp_server.tools.skills.skill_manage import skill_manage_tool
from acp_server.tools.skills.skill_view import skill_view_tool
from acp_server.tools.skills.skills_list import skills_list_tool
from acp_server.tools.skills.variable_requests import VariableRequests
from acp_server.tools.tool import Tool


def skill_tools(
    skills: SkillAccess,
    gate: Gate,
    roots: Sequence[Path] = (),
    variables: VariableRequests | None = None,
) -> tuple[Tool, ...]:
    """Return the tools, in the order in which they are sent to the model.

    `roots` are the workspace directories of the session: the permission gate judges changes inside
    them as changes in the workspace.
    """
    manage = skill_manage_tool(skills, gate, roots)
    return (skills_list_tool(skills), skill_view_tool(skills, variables), manage)

"""The tool `skills_list`: lists the skills of the session. Results are JSON."""

from functools import partial

from pydantic import Field, JsonValue

from acp_server.skills.access import SkillAccess
from acp_server.tools.arguments import Arguments, PartialArguments
from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.shortening import fit_json
from acp_server.tools.tool import CallDescription, Tool, TypedToolUse, build_spec
from acp_server.turn.call_access import READS
from acp_server.turn.ports import ToolOutcome
from skills_store.library import SkillListing

DESCRIPTION = "List the skills with descriptions, all or of one category."
MAX_CHARACTERS = 40_000
"""Maximum length of a result; in a longer one, descriptions are cut and finally left out."""
DESCRIPTION_LIMITS = (1_024, 300, 120, 60, 0)


class SkillsListArguments(Arguments):
    """The category to list; all skills without one."""

    category: str | None = Field(default=None, description="only this one (default: all)")


class SkillsListUse(TypedToolUse[SkillsListArguments]):
    """One call of `skills_list`."""

    usual_access = READS

    def __init__(self, skills: SkillAccess, reporter: CallReporter) -> None:
        super().__init__(SkillsListArguments, reporter)
        self._skills = skills

    def describe(self, so_far: PartialArguments) -> CallDescription | None:
        """Return the category as the title, once it is known."""
        category = so_far.complete_text("category")
        return CallDescription(f"List the skills in {category}") if category else None

    async def run(self, arguments: SkillsListArguments) -> ToolOutcome:
        """List the skills."""
        await self.reporter.mark_in_progress()
        listing = await self._skills.listing((arguments.category or "").strip("/"))
        return ToolOutcome(
            fit_json(partial(_listing_json, listing), DESCRIPTION_LIMITS, MAX_CHARACTERS)
        )


def _listing_json(listing: SkillListing, max_characters: int) -> JsonValue:
    skills: list[JsonValue] = [
        {
            "name": each.name,
            "description": each.description[:max_characters],
            "category": each.category,
        }
        for each in listing.skills
    ]
    categories: list[JsonValue] = [
        {"name": name, "description": text[:max_characters]} if text else {"name": name}
        for name, text in listing.categories
    ]
    return {"success": True, "skills": skills, "categories": categories, "count": len(skills)}


def skills_list_tool(skills: SkillAccess) -> Tool:
    """Return the tool for a session."""
    spec = build_spec("skills_list", DESCRIPTION, SkillsListArguments)
    return Tool(spec, "read", "List the skills", partial(SkillsListUse, skills))

"""The tool `skills_list`: lists the skills of the session. Results are JSON."""

import json
from functools import partial

from pydantic import JsonValue

from acp_server.skills.access import SkillAccess
from acp_server.tools.arguments import Arguments, PartialArguments
from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.tool import CallDescription, Tool, TypedToolUse, build_spec
from acp_server.turn.ports import ToolOutcome
from skills_store import SkillListing

DESCRIPTION = "List the skills with their descriptions, all or those of one category."
MAX_CHARACTERS = 40_000
"""Maximum length of a result; in a longer one, descriptions are cut and finally left out."""
DESCRIPTION_LIMITS = (1_024, 300, 120, 60, 0)


class SkillsListArguments(Arguments):
    """The category to list; all skills without one."""

    category: str | None = None


class SkillsListUse(TypedToolUse[SkillsListArguments]):
    """One call of `skills_list`."""

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
        return ToolOutcome(
            _fit_json(await self._skills.listing((arguments.category or "").strip("/")))
        )


def _fit_json(listing: SkillListing) -> str:
    """Return the list as JSON, with as much of each description as fits."""
    text = ""
    for max_characters in DESCRIPTION_LIMITS:
        text = json.dumps(_listing_json(listing, max_characters), ensure_ascii=False)
        if len(text) <= MAX_CHARACTERS:
            break
    return text


def _listing_json(listing: SkillListing, max_characters: int) -> JsonValue:
    return {
        "success": True,
        "skills": [
            {
                "name": each.name,
                "description": each.description[:max_characters],
                "category": each.category,
            }
            for each in listing.skills
        ],
        "categories": [
            {"name": name, "description": description[:max_characters]}
            if description
            else {"name": name}
            for name, description in listing.categories
        ],
        "count": len(listing.skills),
    }


def skills_list_tool(skills: SkillAccess) -> Tool:
    """Return the tool for a session."""
    spec = build_spec("skills_list", DESCRIPTION, SkillsListArguments)
    return Tool(spec, "read", "List the skills", partial(SkillsListUse, skills))

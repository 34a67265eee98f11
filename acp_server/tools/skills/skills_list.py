"""The tool `skills_list`: lists the skills of the session. Results are JSON."""

import json
from functools import partial

from pydantic import JsonValue

from acp_server.skills.access import SkillAccess
from acp_server.tools.arguments import Arguments, SoFar
from acp_server.tools.call_reporter import Report
from acp_server.tools.tool import Description, Tool, Use, spec_of
from acp_server.turn.ports import Outcome
from skills_store import Listing

DESCRIPTION = "List the skills with their descriptions, all or those of one category."
MOST_CHARACTERS = 40_000
"""Maximum length of a result; in a longer one, descriptions are cut and finally left out."""
DESCRIPTION_CHARACTERS = (1_024, 300, 120, 60, 0)


class ListSkillsArguments(Arguments):
    """The category to list; all skills without one."""

    category: str | None = None


class ListSkillsUse(Use[ListSkillsArguments]):
    """One call of `skills_list`."""

    def __init__(self, skills: SkillAccess, report: Report) -> None:
        super().__init__(ListSkillsArguments, report)
        self._skills = skills

    def describe(self, so_far: SoFar) -> Description | None:
        """Return the category as the title, once it is known."""
        category = so_far.whole("category")
        return Description(f"List the skills in {category}") if category else None

    async def run(self, arguments: ListSkillsArguments) -> Outcome:
        """List the skills."""
        await self.report.begin()
        return Outcome(_bounded(await self._skills.listing((arguments.category or "").strip("/"))))


def _bounded(listing: Listing) -> str:
    """Return the list as JSON, with as much of each description as fits."""
    text = ""
    for most in DESCRIPTION_CHARACTERS:
        text = json.dumps(_answer(listing, most), ensure_ascii=False)
        if len(text) <= MOST_CHARACTERS:
            break
    return text


def _answer(listing: Listing, most: int) -> JsonValue:
    return {
        "success": True,
        "skills": [
            {"name": each.name, "description": each.description[:most], "category": each.category}
            for each in listing.skills
        ],
        "categories": [
            {"name": name, "description": told[:most]} if told else {"name": name}
            for name, told in listing.categories
        ],
        "count": len(listing.skills),
    }


def skills_list_tool(skills: SkillAccess) -> Tool:
    """Return the tool for a session."""
    spec = spec_of("skills_list", DESCRIPTION, ListSkillsArguments)
    return Tool(spec, "read", "List the skills", partial(ListSkillsUse, skills))

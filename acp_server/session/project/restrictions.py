"""What a trusted project restricts a session to, and prefers in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

ALLOWED_TOOLS = "allowed_tools"
PREFERRED_SKILLS = "preferred_skills"


@dataclass(slots=True)
class ProjectRestrictions:
    """The tools that the project allows and the skills that it prefers.

    Stored with the system prompt, so that a resumed session has them before its project is read.
    """

    allowed_tools: tuple[str, ...] | None = None
    """Names of the only tools that may be used; None for all."""
    preferred_skills: tuple[str, ...] = ()

    def replace(self, tools: Sequence[str], skills: Sequence[str]) -> bool:
        """Take over a project's wishes; return whether a prompt written before is outdated."""
        before = self.allowed_tools, self.preferred_skills
        if tools:  # a project that names no tools keeps the stored restriction
            self.allowed_tools = tuple(tools)
        self.preferred_skills = tuple(skills)
        return (self.allowed_tools, self.preferred_skills) != before

    def state(self) -> dict[str, JsonValue]:
        """Return the values to store."""
        stored: dict[str, JsonValue] = {}
        if self.allowed_tools is not None:
            stored[ALLOWED_TOOLS] = [*self.allowed_tools]
        if self.preferred_skills:
            stored[PREFERRED_SKILLS] = [*self.preferred_skills]
        return stored


def restore_restrictions(state: Mapping[str, JsonValue]) -> ProjectRestrictions:
    """Return the restrictions that were stored with a system prompt."""
    return ProjectRestrictions(
        _names(state.get(ALLOWED_TOOLS)), _names(state.get(PREFERRED_SKILLS)) or ()
    )


def _names(value: JsonValue) -> tuple[str, ...] | None:
    return tuple(map(str, value)) if isinstance(value, list) else None

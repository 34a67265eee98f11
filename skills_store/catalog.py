"""Uncached list of all skills for the editor, including shadowed and broken ones.

Scans the disk on each call; files that did not change are not read again.
"""

from collections.abc import Callable, Sequence
from difflib import get_close_matches

from skills_store.discovery import scan_root
from skills_store.errors import AmbiguousSkillError, SkillNotFoundError
from skills_store.root_scan import RootScan
from skills_store.skill import SKILL_FILE, Skill, SkillRoot

_MAX_SUGGESTIONS = 5
_SHOWN_CHARACTERS = 100


class SkillCatalog:
    """Skills of several roots, in the order in which roots win. All calls block."""

    def __init__(self, roots: Callable[[], Sequence[SkillRoot]]) -> None:
        self._roots = roots
        self._scans: dict[SkillRoot, RootScan] = {}

    def list_skills(self) -> tuple[Skill, ...]:
        """Return all skills, those of the first root first."""
        skills: list[Skill] = []
        for root in self._roots():
            found = self._scans[root] = scan_root(root, self._scans.get(root))
            skills += found.skills
            # Those with an invalid SKILL.md too, so that they can be repaired.
            loaded = {skill.folder for skill in found.skills}
            skipped = {
                each.path.parent
                for each in found.problems
                if each.is_skipped and each.path.name == SKILL_FILE
            }
            for folder in sorted(skipped - loaded):
                if folder != root.path and folder.is_relative_to(root.path):
                    *category, name = folder.relative_to(root.path).parts
                    skills.append(Skill(name, "", "/".join(category), root))
        return tuple(skills)

    def find(self, name: str) -> Skill:
        """Return the skill with this `name` or `category/name`.

        Raises:
            SkillNotFoundError: No skill has the name.
            AmbiguousSkillError: The winning root has several.
        """
        skills = self.list_skills()
        matches = [skill for skill in skills if name in {skill.full_name, skill.qualified_name}]
        if not matches:
            short_name = name[:_SHOWN_CHARACTERS]
            names = {skill.full_name for skill in skills}
            raise SkillNotFoundError(
                short_name, get_close_matches(short_name, names, n=_MAX_SUGGESTIONS)
            )
        candidates = [skill for skill in matches if skill.root == matches[0].root]
        exact = [skill for skill in candidates if skill.qualified_name == name]
        if len(candidates) > 1 and "/" in name and len(exact) == 1:
            return exact[0]
        if len(candidates) > 1:
            raise AmbiguousSkillError(name, [skill.qualified_name for skill in candidates])
        return candidates[0]

    def is_reachable(self, skill: Skill) -> bool:
        """Return whether a skill exists and no earlier root shadows it."""
        matches = [each for each in self.list_skills() if each.full_name == skill.full_name]
        return any(each.folder == skill.folder and each.root == matches[0].root for each in matches)

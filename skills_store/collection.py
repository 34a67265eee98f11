"""Merge the skills of all roots: decide which skill wins a name and which it shadows."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from skills_store.root_scan import UNSETTLED, RootScan
from skills_store.skill import LoadProblem, ShadowedSkill, Skill

GENERAL_CATEGORY = "general"
"""Category shown for skills at the top level of their root."""

CollectionKey = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class SkillCollection:
    """All skills of all roots, without regard to visibility."""

    skills: tuple[Skill, ...]
    """Ordered by category, name and root. One root may contain a name twice."""
    by_name: Mapping[str, tuple[Skill, ...]]
    """Skills by full name: one, or several of the same root."""
    shadowed: tuple[ShadowedSkill, ...]
    category_descriptions: Mapping[str, str]
    problems: tuple[LoadProblem, ...]
    key: CollectionKey
    """Cache key: equal keys mean that all files were the same."""


def merge_scans(scans: Sequence[RootScan]) -> SkillCollection:
    """Merge scans into one collection; for each name the skills of the first root count."""
    by_name: dict[str, list[Skill]] = {}
    shadowed: list[ShadowedSkill] = []
    descriptions: dict[str, str] = {}
    for found in scans:
        for skill in found.skills:
            same_name = by_name.setdefault(skill.full_name, [])
            if not same_name or same_name[0].root == skill.root:
                same_name.append(skill)
                continue
            is_linked = False  # some installers symlink one directory into several roots
            with suppress(OSError):
                is_linked = skill.folder.samefile(same_name[0].folder)
            if not is_linked:
                shadowed.append(ShadowedSkill(skill, same_name[0]))
        if not found.root.plugin:
            descriptions = {**found.category_descriptions, **descriptions}
    skills = [skill for same_name in by_name.values() for skill in same_name]
    # No two are equal: skills of the same full name have the same root.
    skills.sort(key=lambda skill: (skill.category, skill.full_name))
    # An unsettled scan gets a key that equals no other.
    key = tuple(
        (each.root, object() if UNSETTLED in manifest.values() else frozenset(manifest.items()))
        for each in scans
        for manifest in (each.manifest,)
    )
    return SkillCollection(
        tuple(skills),
        {name: tuple(same_name) for name, same_name in by_name.items()},
        tuple(shadowed),
        descriptions,
        tuple(problem for found in scans for problem in found.problems),
        key,
    )


def category_name(skill: Skill) -> str:
    """Return the category under which a skill is listed."""
    return skill.category or GENERAL_CATEGORY


def call_name(skill: Skill, collection: SkillCollection) -> str:
    """Return the shortest name that identifies only this skill."""
    is_unique = len(collection.by_name[skill.full_name]) == 1
    return skill.full_name if is_unique else skill.qualified_name


def names_in(skills: Iterable[Skill]) -> tuple[str, ...]:
    """Return the full names of skills, sorted, without duplicates."""
    return tuple(sorted({skill.full_name for skill in skills}))

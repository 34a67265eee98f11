"""The skills of all roots as one: which wins a name, which it shadows. Looks at no content."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from skills_store.scans import UNSETTLED, Scan
from skills_store.skill import LoadProblem, Shadowed, Skill

GENERAL = "general"
"""What the skills are listed under that stand at the top of their root."""

Key = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Collection:
    """What there is, whoever may see it."""

    skills: tuple[Skill, ...]
    """In the order of category, name and root. One root may have a name twice."""
    by_name: Mapping[str, tuple[Skill, ...]]
    """The skills of each full name: one, or those of one root that share it."""
    shadowed: tuple[Shadowed, ...]
    category_descriptions: Mapping[str, str]
    problems: tuple[LoadProblem, ...]
    key: Key
    """Equal to that of another collection only if all files were the same."""


def joined(scans: Sequence[Scan]) -> Collection:
    """Return what several roots hold together; of one name, the first root's skills count."""
    by_name: dict[str, list[Skill]] = {}
    shadowed: list[Shadowed] = []
    descriptions: dict[str, str] = {}
    for found in scans:
        for skill in found.skills:
            named = by_name.setdefault(skill.full_name, [])
            if not named or named[0].root == skill.root:
                named.append(skill)
            elif not _is_same_folder(skill, named[0]):
                shadowed.append(Shadowed(skill, named[0]))
        if not found.root.plugin:
            descriptions = {**found.category_descriptions, **descriptions}
    skills = sorted((skill for named in by_name.values() for skill in named), key=_order)
    return Collection(
        tuple(skills),
        {name: tuple(named) for name, named in by_name.items()},
        tuple(shadowed),
        descriptions,
        tuple(problem for found in scans for problem in found.problems),
        tuple(map(_key, scans)),
    )


def category_name(skill: Skill) -> str:
    """Return the category that a skill is listed under."""
    return skill.category or GENERAL


def call_name(skill: Skill, collection: Collection) -> str:
    """Return the shortest name by which a skill, and no other, is found."""
    is_unique = len(collection.by_name[skill.full_name]) == 1
    return skill.full_name if is_unique else skill.place_name


def names_in(skills: Iterable[Skill]) -> tuple[str, ...]:
    """Return the full names of skills, each once, sorted."""
    return tuple(sorted({skill.full_name for skill in skills}))


def _key(found: Scan) -> Key:
    """Return what is equal only for the same files; what is not settled is equal to nothing."""
    is_settled = UNSETTLED not in found.manifest.values()
    return (found.root, frozenset(found.manifest.items()) if is_settled else object())


def _order(skill: Skill) -> tuple[str, str, str]:
    return (skill.category, skill.full_name, str(skill.folder))


def _is_same_folder(one: Skill, other: Skill) -> bool:
    """Whether a skill is only linked from another root, as some installers do."""
    try:
        return one.folder.samefile(other.folder)
    except OSError:
        return False

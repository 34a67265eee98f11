"""Decide which owner a skill has, and so how it may be changed: in place, in a copy, or not at all.

Reads the lists of bundled and installed skills. Changes nothing.
"""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, assert_never

from skills_store.home import AgentHome
from skills_store.json_file import JsonFile
from skills_store.skill import Skill
from skills_store.usage import SkillUsageStore
from skills_store.write_errors import BackgroundChangeError, PinnedSkillError, ReadOnlySkillError

logger = logging.getLogger(__name__)

Owner = Literal["user", "agent", "bundled", "hub", "installed", "workspace", "external", "plugin"]
ChangeOrigin = Literal["turn", "review", "curator", "user"]
"""Source of a change: the model in a turn, a background run (review, curator), or the user."""

BACKGROUND_ORIGINS: frozenset[ChangeOrigin] = frozenset({"review", "curator"})
_FOREIGN_OWNERS: frozenset[Owner] = frozenset(
    {"bundled", "hub", "installed", "workspace", "external", "plugin"}
)


@dataclass(frozen=True, slots=True)
class InstalledNames:
    """Names of skills in the user's directory that came from elsewhere."""

    bundled: frozenset[str] = frozenset()
    hub: frozenset[str] = frozenset()
    installed: frozenset[str] = frozenset()


def read_installed_names(home: AgentHome) -> InstalledNames:
    """Read the lists; a missing or unreadable list counts as empty."""
    lines: list[str] = []
    try:
        lines = home.bundled_manifest.read_text("utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        pass
    except OSError as error:
        logger.warning(
            "cannot read %s, its skills count as the user's own: %s", home.bundled_manifest, error
        )
    return InstalledNames(
        frozenset(name for line in lines if (name := line.partition(":")[0].strip())),
        _read_installed_names_from(home.hub_lock),
        _read_installed_names_from(home.installed),
    )


def owner_of(skill: Skill, installed_names: InstalledNames, usage: SkillUsageStore) -> Owner:
    """Return the owner of a skill. Skills shared with other agents count as external."""
    match skill.root.kind:
        case "home" if skill.name in installed_names.installed:
            return "installed"
        case "home" if skill.name in installed_names.hub:
            return "hub"
        case "home" if skill.name in installed_names.bundled:
            return "bundled"
        case "home":
            record = usage.record(skill.name)
            return "agent" if record is not None and record.created_by == "agent" else "user"
        case "agents" | "external":
            return "external"
        case "workspace" | "bundled" | "plugin":
            return skill.root.kind
        case _:
            assert_never(skill.root.kind)


def should_change_in_place(skill: Skill, owner: Owner) -> bool:
    """Return whether a skill is changed in place; if not, a copy of the user's is changed.

    Raises:
        ReadOnlySkillError: Neither is possible.
    """
    match skill.root.kind:
        case "home":
            return True
        case "workspace" if not skill.root.is_writable:
            reason = "the workspace is read only, and a copy elsewhere would not be found before it"
            raise ReadOnlySkillError(skill.full_name, owner, reason)
        case "plugin":
            reason = "a plugin's skills are read only; create one of your own instead"
            raise ReadOnlySkillError(skill.full_name, owner, reason)
        case _:
            return skill.root.is_writable and skill.root.kind in {"workspace", "agents"}


def check_origin(skill: Skill, owner: Owner, origin: ChangeOrigin, usage: SkillUsageStore) -> None:
    """Reject a background run's change of a skill that is pinned, or not the user's or an agent's.

    Raises:
        PinnedSkillError: The skill is pinned.
        BackgroundChangeError: The skill belongs to others.
    """
    if origin not in BACKGROUND_ORIGINS:
        return
    if usage.is_pinned(skill.name):
        raise PinnedSkillError(skill.name, is_background=True)
    if owner in _FOREIGN_OWNERS:
        raise BackgroundChangeError(skill.full_name, owner, origin)


def check_deletion(
    skill: Skill, owner: Owner, origin: ChangeOrigin, usage: SkillUsageStore
) -> None:
    """Reject archiving a pinned skill, and in a background run one that no agent made.

    Raises:
        PinnedSkillError: The skill is pinned.
        ReadOnlySkillError: It is not in the user's own directory.
        BackgroundChangeError: A background run may archive only skills made by an agent.
    """
    check_origin(skill, owner, origin, usage)
    if skill.root.kind != "home":
        reason = (
            "only skills in the user's own folder are archived; "
            "the setting skills.disabled hides this one"
        )
        raise ReadOnlySkillError(skill.full_name, owner, reason)
    if usage.is_pinned(skill.name):
        raise PinnedSkillError(skill.name, is_background=False)
    if origin in BACKGROUND_ORIGINS and owner != "agent":
        raise BackgroundChangeError(skill.full_name, owner, origin)


def _read_installed_names_from(file: Path) -> frozenset[str]:
    """Return the names in a list of installed skills: the keys of its object `installed`."""
    installed = JsonFile(file).read().get("installed")
    return frozenset(installed) if isinstance(installed, dict) else frozenset()

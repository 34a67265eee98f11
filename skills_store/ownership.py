"""Whose a skill is, and so who may change it, and where: in its place, in a copy, or not at all.

It reads the lists of what was bundled and installed. It changes nothing.
"""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, assert_never

from skills_store.documents import DocumentFile
from skills_store.home import Home
from skills_store.refusals import PinnedError, ReadOnlyError, UnaskedChangeError
from skills_store.skill import Skill
from skills_store.usage import Usage

logger = logging.getLogger(__name__)

Owner = Literal["user", "agent", "bundled", "hub", "installed", "workspace", "external", "plugin"]
Origin = Literal["turn", "review", "curator", "user"]
"""Who asks for a change: the model in a turn, a pass in the background, or the user himself."""

UNASKED: frozenset[Origin] = frozenset({"review", "curator"})
_OF_OTHERS: frozenset[Owner] = frozenset(
    {"bundled", "hub", "installed", "workspace", "external", "plugin"}
)


@dataclass(frozen=True, slots=True)
class Claims:
    """The names of the skills in the user's folder that others put there."""

    bundled: frozenset[str] = frozenset()
    hub: frozenset[str] = frozenset()
    installed: frozenset[str] = frozenset()


def read_claims(home: Home) -> Claims:
    """Return what the lists say; a list that is not there or cannot be read names nothing."""
    return Claims(_bundled_names(home), _named_in(home.hub_lock), _named_in(home.installed))


def owner_of(skill: Skill, claims: Claims, usage: Usage) -> Owner:
    """Return whose a skill is. Skills that other agents use too count as external."""
    match skill.root.kind:
        case "home":
            return _owner_at_home(skill.name, claims, usage)
        case "agents" | "external":
            return "external"
        case "workspace" | "bundled" | "plugin":
            return skill.root.kind
        case _:
            assert_never(skill.root.kind)


def is_changed_in_place(skill: Skill, owner: Owner) -> bool:
    """Say whether a change is made where the skill is; else it is made in a copy of the user's.

    Raises:
        ReadOnlyError: neither can be.
    """
    match skill.root.kind:
        case "home":
            return True
        case "workspace" if not skill.root.is_writable:
            reason = "the workspace is read only, and a copy elsewhere would not be found before it"
            raise ReadOnlyError(skill.full_name, owner, reason)
        case "plugin":
            reason = "a plugin's skills are read only; create one of your own instead"
            raise ReadOnlyError(skill.full_name, owner, reason)
        case _:
            return skill.root.is_writable and skill.root.kind in {"workspace", "agents"}


def check_deletable(skill: Skill, owner: Owner) -> None:
    """Refuse to archive what is not in the user's own folder.

    Raises:
        ReadOnlyError: it is elsewhere.
    """
    if skill.root.kind != "home":
        reason = (
            "only skills in the user's own folder are archived; "
            "the setting skills.disabled hides this one"
        )
        raise ReadOnlyError(skill.full_name, owner, reason)


def check_origin(skill: Skill, owner: Owner, origin: Origin, usage: Usage) -> None:
    """Refuse a pass that nobody asked for what is pinned or belongs to others.

    Raises:
        PinnedError: the skill is pinned.
        UnaskedChangeError: it is of others.
    """
    if origin not in UNASKED:
        return
    if usage.is_pinned(skill.name):
        raise PinnedError(skill.name, is_unasked=True)
    if owner in _OF_OTHERS:
        raise UnaskedChangeError(skill.full_name, owner, origin)


def check_deletion(skill: Skill, owner: Owner, origin: Origin, usage: Usage) -> None:
    """Refuse to archive what is pinned, and unasked what no agent made.

    Raises:
        PinnedError: the skill is pinned.
        ReadOnlyError: it is not in the user's own folder.
        UnaskedChangeError: the pass may archive only what an agent made.
    """
    check_origin(skill, owner, origin, usage)
    check_deletable(skill, owner)
    if usage.is_pinned(skill.name):
        raise PinnedError(skill.name, is_unasked=False)
    if origin in UNASKED and owner != "agent":
        raise UnaskedChangeError(skill.full_name, owner, origin)


def _owner_at_home(name: str, claims: Claims, usage: Usage) -> Owner:
    if name in claims.installed:
        return "installed"
    if name in claims.hub:
        return "hub"
    if name in claims.bundled:
        return "bundled"
    record = usage.record(name)
    return "agent" if record is not None and record.created_by == "agent" else "user"


def _bundled_names(home: Home) -> frozenset[str]:
    try:
        lines = home.bundled_manifest.read_text("utf-8", errors="replace").splitlines()
    except FileNotFoundError:
        return frozenset()
    except OSError as error:
        logger.warning("%s cannot be read: %s", home.bundled_manifest, error)
        return frozenset()
    return frozenset(name for line in lines if (name := line.partition(":")[0].strip()))


def _named_in(file: Path) -> frozenset[str]:
    """Return the names in a list of installed skills: the keys of its map `installed`."""
    installed = DocumentFile(file).read().get("installed")
    return frozenset(installed) if isinstance(installed, dict) else frozenset()

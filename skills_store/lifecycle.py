"""Ageing of skills made by agents: idle ones become stale, then archived; used ones active again.

Transitions are computed from the usage records, then applied.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from skills_store.calls import ManageCall
from skills_store.editor import SkillEditor
from skills_store.errors import SkillError
from skills_store.usage import SkillState, UsageRecord

logger = logging.getLogger(__name__)

STALE_AFTER_DAYS = 30
ARCHIVED_AFTER_DAYS = 90


@dataclass(frozen=True, slots=True)
class AgingPolicy:
    """Idle days after which a skill changes its state."""

    stale_days: int = STALE_AFTER_DAYS
    archived_days: int = ARCHIVED_AFTER_DAYS


@dataclass(frozen=True, slots=True)
class StateTransition:
    """A change of a skill's state after `idle_days` whole days."""

    name: str
    old: SkillState
    new: SkillState
    idle_days: int


def find_due_transitions(
    records: Mapping[str, UsageRecord], now: datetime, policy: AgingPolicy | None = None
) -> tuple[StateTransition, ...]:
    """Return the state changes that are due, by skill name.

    A skill that was never used counts from its creation or restoration. Pinned and archived skills,
    and skills not made by an agent, are left alone.
    """
    policy = policy or AgingPolicy()
    transitions: list[StateTransition] = []
    for name, record in sorted(records.items()):
        timestamps = (record.last_activity_at, record.created_at, record.restored_at)
        last = max((time for time in timestamps if time is not None), default=None)
        is_ageing = record.created_by == "agent" and not record.pinned
        if not is_ageing or record.state == "archived" or last is None:
            continue
        idle = now - last
        new: SkillState = "active"
        if idle >= timedelta(days=policy.archived_days):
            new = "archived"
        elif idle >= timedelta(days=policy.stale_days):
            new = "stale"
        if new != record.state:
            transitions.append(StateTransition(name, record.state, new, idle.days))
    return tuple(transitions)


def apply_transitions(
    editor: SkillEditor, transitions: tuple[StateTransition, ...], undo_id: str
) -> tuple[StateTransition, ...]:
    """Apply transitions as the curator and return those that succeeded.

    A refused one is logged: the record may be of a deleted skill, or of one not made by an agent.

    Raises:
        LockedError: Another process holds the skills lock past the timeout.
        OSError: A write failed; earlier transitions stay.
    """
    applied: list[StateTransition] = []
    for each in transitions:
        try:
            if each.new == "archived":
                reason = f"idle for {each.idle_days} days"
                call = ManageCall("delete", each.name, origin="curator", reason=reason)
                editor.commit(editor.plan(call), undo_id)
            else:
                editor.usage.set_state(each.name, each.new)
        except SkillError as error:
            logger.info(
                "the skill %s was not archived and stays %s: %s", each.name, each.old, error
            )
        else:
            applied.append(each)
    return tuple(applied)

"""The policy: what may be done unasked, what is asked about, what is refused. Pure."""

from dataclasses import dataclass
from typing import assert_never

from acp_server.permissions.effects import Effect, ReadFiles, RunCommand, WriteFiles
from acp_server.permissions.modes import Mode


@dataclass(frozen=True, slots=True)
class Allow:
    """It may be done."""


@dataclass(frozen=True, slots=True)
class Ask:
    """The user decides."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """It may not be done; `reason` is for the model."""

    reason: str


Decision = Allow | Ask | Refuse

PLANNING = "plan mode is on: nothing is written and nothing is run; read, search and plan instead"


def decide(effect: Effect, mode: Mode) -> Decision:
    """Return what is to become of an effect."""
    if mode == "bypass":
        return Allow()
    match effect:
        case ReadFiles():
            return Allow() if all(target.is_inside for target in effect.targets) else Ask()
        case WriteFiles():
            if mode == "plan":
                return Refuse(PLANNING)
            is_inside = all(target.is_inside for target in effect.targets)
            return Allow() if mode == "accept_edits" and is_inside else Ask()
        case RunCommand():
            return Refuse(PLANNING) if mode == "plan" else Ask()
        case _:
            assert_never(effect)

"""What was denied in a run, and which of it was left undone.

Every effect leaves its trace here as it passes the gate, or does not.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import assert_never

from acp_server.permissions.effects import (
    CallServer,
    ChangeMemory,
    ChangeSkill,
    Effect,
    FetchUrl,
    LeavePlanMode,
    ReadFiles,
    RestoreFiles,
    RunCommand,
    WriteFiles,
)
from acp_server.permissions.gate import Passage


@dataclass(frozen=True, slots=True)
class Target:
    """What an effect is on: two effects on the same one do the same work."""

    act: str
    """`read`, `write`, `run`, `fetch`, `call`, `remember`, or `leave plan mode`."""
    name: str
    """A path, a command, a server's tool."""


@dataclass(frozen=True, slots=True)
class Denial:
    """A call that was not let through."""

    call_id: str
    tool: str
    targets: tuple[Target, ...]
    reason: str


@dataclass(slots=True)
class Denials:
    """All denials of a run, and what was done all the same."""

    denied: list[Denial] = field(default_factory=list[Denial])
    _open: dict[Target, None] = field(default_factory=dict[Target, None])

    def witness(self, passage: Passage) -> bool:
        """Note what became of an effect; return whether it was denied."""
        targets = tuple(targets_of(passage.effect))
        if passage.refusal is None:
            for target in targets:
                self._open.pop(target, None)
            return False
        self._open.update(dict.fromkeys(targets))
        reason = passage.refusal.reason
        self.denied.append(Denial(passage.call_id, passage.tool, targets, reason))
        return True

    @property
    def left_undone(self) -> tuple[Target, ...]:
        """What was denied and not let through later."""
        return tuple(self._open)


def targets_of(effect: Effect) -> Iterable[Target]:
    """Yield what an effect is on."""
    match effect:
        case ReadFiles(targets):
            yield from (Target("read", str(target.real)) for target in targets)
        case WriteFiles(targets) | ChangeSkill(targets) | RestoreFiles(targets):
            yield from (Target("write", str(target.real)) for target in targets)
        case RunCommand(command):
            yield Target("run", command)
        case CallServer(server, _, tool):
            yield Target("call", f"{server}: {tool}")
        case FetchUrl(_, url):
            yield Target("fetch", url)
        case ChangeMemory():
            yield Target("remember", "memory")
        case LeavePlanMode():
            yield Target("leave plan mode", "")
        case _:
            assert_never(effect)

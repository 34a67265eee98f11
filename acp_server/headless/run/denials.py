"""Record of denied effects in a run, and which of them were never allowed later.

The permission gate reports every effect here, allowed or denied; hooks report the calls they block.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
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
from acp_server.turn.conversation import ToolCall, arguments_of

_SAID_OF = {
    "read_file": ("read", "path"),
    "write_file": ("write", "path"),
    "patch": ("write", "path"),
    "terminal": ("run", "command"),
    "web_fetch": ("fetch", "url"),
}
"""Maps each tool to its action and to the argument that names the target."""


@dataclass(frozen=True, slots=True)
class Target:
    """Action and target of an effect; equal values mean the same work."""

    act: str
    """`read`, `write`, `run`, `fetch`, `call`, `remember`, or `leave plan mode`."""
    name: str
    """A path, a command or a server's tool."""

    @property
    def words(self) -> str:
        """Action and name on one line, for display."""
        return f"{self.act} {self.name}".rstrip()


@dataclass(frozen=True, slots=True)
class Denial:
    """A denied tool call."""

    call_id: str
    tool: str
    targets: tuple[Target, ...]
    reason: str


@dataclass(slots=True)
class Denials:
    """All denials of a run, and the denied targets that are still not done."""

    denied: list[Denial] = field(default_factory=list[Denial])
    _open: dict[Target, None] = field(default_factory=dict[Target, None])

    def witness(self, passage: Passage) -> Denial | None:
        """Record the gate's decision on an effect; return the denial, if it was denied."""
        targets = tuple(targets_of(passage.effect))
        if passage.refusal is None:
            for target in targets:  # denied before, but allowed now
                self._open.pop(target, None)
            return None
        return self._deny(Denial(passage.call_id, passage.tool, targets, passage.refusal.reason))

    def refuse(self, call: ToolCall, reason: str, folder: Path) -> Denial:
        """Record a call that a hook blocked; its target is derived from its arguments."""
        return self._deny(Denial(call.id, call.name, (_target_of(call, folder),), reason))

    def _deny(self, denial: Denial) -> Denial:
        self._open.update(dict.fromkeys(denial.targets))
        self.denied.append(denial)
        return denial

    @property
    def left_undone(self) -> tuple[Target, ...]:
        """Denied targets that were not allowed later."""
        return tuple(self._open)


def _target_of(call: ToolCall, folder: Path) -> Target:
    """Return a call's target from its arguments, equal to that of its effect."""
    act, name = _SAID_OF.get(call.name, ("call", ""))
    said = (arguments_of(call) or {}).get(name)
    if not isinstance(said, str):
        return Target("call", call.name)
    return Target(act, str((folder / said).resolve()) if name == "path" else said)


def targets_of(effect: Effect) -> Iterable[Target]:
    """Yield the targets of an effect."""
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

"""What was denied in a run, and which of it was left undone.

Every effect leaves its trace here as it passes the gate, or does not; so does what a hook refuses.
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
"""What tools do, and the argument that says on what."""


@dataclass(frozen=True, slots=True)
class Target:
    """What an effect is on: two effects on the same one do the same work."""

    act: str
    """`read`, `write`, `run`, `fetch`, `call`, `remember`, or `leave plan mode`."""
    name: str
    """A path, a command, a server's tool."""

    @property
    def words(self) -> str:
        """What was to be done, in a line for people."""
        return f"{self.act} {self.name}".rstrip()


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

    def witness(self, passage: Passage) -> Denial | None:
        """Note what became of an effect; return the denial, if it was denied."""
        targets = tuple(targets_of(passage.effect))
        if passage.refusal is None:
            for target in targets:
                self._open.pop(target, None)
            return None
        return self._deny(Denial(passage.call_id, passage.tool, targets, passage.refusal.reason))

    def refuse(self, call: ToolCall, reason: str, folder: Path) -> Denial:
        """Note a call in `folder` that a hook has refused: no effect tells what it was on."""
        return self._deny(Denial(call.id, call.name, (_target_of(call, folder),), reason))

    def _deny(self, denial: Denial) -> Denial:
        self._open.update(dict.fromkeys(denial.targets))
        self.denied.append(denial)
        return denial

    @property
    def left_undone(self) -> tuple[Target, ...]:
        """What was denied and not let through later."""
        return tuple(self._open)


def _target_of(call: ToolCall, folder: Path) -> Target:
    """Return what a call is on, as far as its arguments tell: as its effect would tell it."""
    act, name = _SAID_OF.get(call.name, ("call", ""))
    said = (arguments_of(call) or {}).get(name)
    if not isinstance(said, str):
        return Target("call", call.name)
    return Target(act, str((folder / said).resolve()) if name == "path" else said)


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

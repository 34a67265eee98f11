"""Record of denied effects in a run, and which of them were never allowed later.

The permission gate reports every effect here, allowed or denied; hooks report the calls they block.
"""

import os
import shlex
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import assert_never
from urllib.parse import urlsplit

from acp_server.permissions.effects import (
    CallMcpTool,
    ChangeMemory,
    ChangeSkill,
    ConnectHost,
    ConnectSocket,
    Effect,
    FetchUrl,
    ForwardPort,
    LeavePlanMode,
    PassVariables,
    ReadFiles,
    RestoreFiles,
    RunCommandEffect,
    WriteFiles,
)
from acp_server.permissions.gate import AuditRecord
from acp_server.permissions.run_rules import SKILL_VARIABLES
from acp_server.permissions.shell.assessment import split_plain_command
from acp_server.turn.conversation import ToolCall, parse_arguments

_TARGET_ARGUMENTS = {
    "read_file": ("read", "path"),
    "write_file": ("write", "path"),
    "patch": ("write", "path"),
    "terminal": ("run", "command"),
    "web_fetch": ("fetch", "url"),
}
"""Maps each tool to its action and to the argument that names the target."""


@dataclass(frozen=True, slots=True)
class EffectTarget:
    """Action and target of an effect; equal values mean the same work."""

    action: str
    """`read`, `write`, `run`, `fetch`, `connect`, `forward`, `call`, `remember`, `pass`, or
    `leave plan mode`."""
    name: str
    """A path, a command or a server's tool."""

    @property
    def description(self) -> str:
        """Action and name on one line, for display."""
        return f"{self.action} {self.name}".rstrip()


@dataclass(frozen=True, slots=True)
class Denial:
    """A denied tool call."""

    call_id: str
    tool: str
    targets: tuple[EffectTarget, ...]
    reason: str
    allow_rule: str = ""
    """Value of `--allow` that would have allowed the call; empty if there is none."""


@dataclass(slots=True)
class DenialLog:
    """All denials of a run, and the denied targets that are still not done."""

    folder: Path
    """The workspace."""
    denied: list[Denial] = field(default_factory=list[Denial])
    _not_done: dict[EffectTarget, None] = field(default_factory=dict[EffectTarget, None])

    def record_effect(self, record: AuditRecord) -> Denial | None:
        """Record the gate's decision on an effect; return the denial, if it was denied."""
        targets = tuple(targets_of_effect(record.effect))
        refusal = record.refusal
        if refusal is None:
            for target in targets:  # denied before, but allowed now
                self._not_done.pop(target, None)
            return None
        rule = allow_rule(record.tool, record.effect, self.folder) if refusal.is_allowable else ""
        denial = Denial(record.call_id, record.tool, targets, refusal.reason, rule)
        if isinstance(record.effect, PassVariables):
            # No work by itself: the skill may do without them.
            self.denied.append(denial)
            return denial
        return self._record(denial)

    def record_blocked_call(self, call: ToolCall, reason: str) -> Denial:
        """Record a call that a hook blocked; its target is derived from its arguments."""
        return self._record(
            Denial(call.id, call.name, (_target_of_call(call, self.folder),), reason)
        )

    def _record(self, denial: Denial) -> Denial:
        self._not_done.update(dict.fromkeys(denial.targets))
        self.denied.append(denial)
        return denial

    @property
    def left_undone(self) -> tuple[EffectTarget, ...]:
        """Denied targets that were not allowed later."""
        return tuple(self._not_done)


def _target_of_call(call: ToolCall, folder: Path) -> EffectTarget:
    """Return a call's target from its arguments, equal to that of its effect."""
    action, name = _TARGET_ARGUMENTS.get(call.name, ("call", ""))
    value = (parse_arguments(call) or {}).get(name)
    if not isinstance(value, str):
        return EffectTarget("call", call.name)
    return EffectTarget(action, str((folder / value).resolve()) if name == "path" else value)


def allow_rule(tool: str, effect: Effect, folder: Path) -> str:
    """Return the narrowest rule for `--allow` that allows an effect in the workspace `folder`."""
    match effect:
        case ReadFiles(targets) | WriteFiles(targets) | RestoreFiles(targets):
            # A rule has one pattern, which must match every file.
            path = Path(os.path.commonpath([target.real for target in targets]))
            name = path.relative_to(folder) if path.is_relative_to(folder) else path
            group = "read" if isinstance(effect, ReadFiles) else "edit"
            return f"{group}({name.as_posix()})"
        case RunCommandEffect(command):
            words = split_plain_command(command)
            return f"{tool}({shlex.join(words)})" if words else tool
        case FetchUrl(_, url):
            return f"{tool}({urlsplit(url).hostname})"
        case PassVariables(skill):
            return f"{SKILL_VARIABLES}({skill})"
        case _:
            return tool


def targets_of_effect(effect: Effect) -> Iterable[EffectTarget]:  # noqa: C901, PLR0912  one per kind
    """Yield the targets of an effect."""
    match effect:
        case ReadFiles(targets):
            yield from (EffectTarget("read", str(target.real)) for target in targets)
        case WriteFiles(targets) | ChangeSkill(targets) | RestoreFiles(targets):
            yield from (EffectTarget("write", str(target.real)) for target in targets)
        case RunCommandEffect(command):
            yield EffectTarget("run", command)
        case CallMcpTool(server, _, tool):
            yield EffectTarget("call", f"{server}: {tool}")
        case FetchUrl(_, url):
            yield EffectTarget("fetch", url)
        case ConnectHost(site):
            yield EffectTarget("connect", site)
        case ConnectSocket(path):
            yield EffectTarget("connect", path)
        case ForwardPort(port):
            yield EffectTarget("forward", str(port))
        case ChangeMemory():
            yield EffectTarget("remember", "memory")
        case PassVariables(skill, _, names):
            yield EffectTarget("pass", f"{', '.join(names)} for the skill {skill}")
        case LeavePlanMode():
            yield EffectTarget("leave plan mode", "")
        case _:
            assert_never(effect)

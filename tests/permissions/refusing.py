"""Program that runs all tools behind a gate that refuses everything, and records effects.

    results = anyio.run(main, folder)

Returns each tool's result and the effects meanwhile: files opened for writing, created, changed or
removed; processes started or signalled; addresses resolved or connected to. An audit hook cannot be
removed, so this is for a separate process.
"""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import anyio
from pydantic import JsonValue

from acp_server.mcp.ports import Json, McpContext, TrackFileChanges
from acp_server.mcp.session_servers import SessionServers
from acp_server.permissions.gate import Gate, no_audit
from acp_server.permissions.policy import Decision, Facts, Refuse
from acp_server.permissions.run_rules import RunRules
from acp_server.session.commands.command import CommandInvocation
from acp_server.session.ports.mcp_configs import StdioServerConfig
from acp_server.session.project.headless_policy import HeadlessPolicy
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.conversation import Text, UserMessage
from tests.permissions.file_attempts import Attempt
from tests.permissions.memory_server import MemoryServer
from tests.permissions.secret_workspace import (
    EventLog,
    ToolCaller,
    create_secret_workspace,
    make_tool_config,
    open_tool_caller_with,
)
from tests.permissions.test_red_team_delegation import AttemptModel

REFUSED = "refused by the test"
PROCESS = "<PROCESS>"
SKILL = "---\nname: made\ndescription: Made by a test.\n---\nDo it.\n"
EVENTS = {
    *("os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir"),
    *("os.symlink", "os.truncate", "os.utime", "os.exec", "os.fork"),
    *("os.forkpty", "os.posix_spawn", "os.spawn", "os.system", "subprocess.Popen", "pty.spawn"),
    *("shutil.copyfile", "shutil.move", "shutil.rmtree", "tempfile.mkstemp", "tempfile.mkdtemp"),
    *("socket.bind", "socket.connect", "socket.getaddrinfo", "socket.gethostbyname"),
    *("socket.sendto", "sqlite3.connect", "ctypes.dlopen", "webbrowser.open", "urllib.Request"),
}
HOOKS = ("rev-parse", "--git-path", "hooks")
"""What the gate asks git before a write; git runs nothing for it."""
SIGNALS = {"os.kill", "os.killpg"}
WRITING_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_TRUNC
ATTEMPTS: dict[str, Attempt] = {
    "read_file": ("read_file", {"path": "README.md"}),
    "search_files": ("search_files", {"pattern": "hello", "path": "src"}),
    "symbols": ("symbols", {"action": "references", "name": "hello", "path": "src"}),
    "write_file": ("write_file", {"path": "made/new.txt", "content": "x"}),
    "write_file over a file": ("write_file", {"path": "README.md", "content": "x"}),
    "patch": ("patch", {"path": "src/app.py", "old_string": "hello", "new_string": "x"}),
    "patch of several": (
        "patch",
        {"mode": "patch", "patch": "*** Begin Patch\n*** Delete File: README.md\n*** End Patch"},
    ),
    "terminal": ("terminal", {"command": "touch x"}),
    "terminal in the background": ("terminal", {"command": "touch x", "background": True}),
    "process": ("process", {"action": "write", "session_id": PROCESS, "data": "touch x\n"}),
    "web_fetch": ("web_fetch", {"url": "http://127.0.0.1:9/"}),
    "exit_plan": ("exit_plan", {"plan": "Do it."}),
    "memory": ("memory", {"action": "add", "content": "Remember this."}),
    "skill_manage": ("skill_manage", {"action": "create", "name": "made", "content": SKILL}),
    "a server's tool": ("s__tool", {}),
}
"""One call of each tool that has an effect, by a description of the effect."""
ALLOWED = ("write_file", "terminal", "web_fetch", "a server's tool")
"""Attempts that run at the end, when nothing is refused any more."""


@frozen_dataclass
class SwitchableRules(RunRules):
    """Rules that refuse nothing until the switch is on, then everything."""

    is_on: list[bool] | None = None

    def apply(self, decision: Decision, tool: str, facts: Facts, root: Path) -> Decision:
        del tool, facts, root
        return Refuse(REFUSED) if self.is_on else decision


class AuditRecorder:
    """Audit hook that records the effects of this process on the system."""

    def __init__(self) -> None:
        self.effects: list[str] = []
        self.is_recording = False
        sys.addaudithook(self._on_audit_event)

    def _on_audit_event(self, event: str, arguments: tuple[object, ...]) -> None:
        if self.is_recording and _is_effect(event, arguments):
            self.effects.append(f"{event} {arguments[:2]}")

    def take(self) -> list[JsonValue]:
        """Return the effects since the last call."""
        effects: list[JsonValue] = [*self.effects]
        self.effects.clear()
        return effects


def _is_effect(event: str, arguments: tuple[object, ...]) -> bool:
    if event == "open":
        path, _, flags = arguments
        return path != os.devnull and isinstance(flags, int) and bool(flags & WRITING_FLAGS)
    if event == "subprocess.Popen" and tuple(cast("Sequence[str]", arguments[1]))[-3:] == HOOKS:
        return False
    if event in SIGNALS:  # signal 0 only checks that the process exists
        return arguments[1] != 0
    return event in EVENTS


async def main(folder: Path) -> Mapping[str, JsonValue]:
    """Run all attempts; return the results, which JSON can hold."""
    workspace, model, switch = create_secret_workspace(folder), AttemptModel(), list[bool]()
    workspace.model = model
    recorder = AuditRecorder()
    policy = HeadlessPolicy(SwitchableRules(is_on=switch), no_audit)
    config = replace(make_tool_config(workspace), headless_policy=policy)
    servers, outcomes = list[SessionServers](), dict[str, JsonValue]()
    async with anyio.create_task_group() as tasks:

        def note(call: Json) -> None:
            recorder.effects.append(f"a call of a server's {call}")

        def join(gate: Gate, tracking_file_changes: TrackFileChanges) -> SessionServers:
            context = McpContext(
                gate,
                (workspace.root,),
                tasks,
                MemoryServer(note).load,
                tracking_file_changes=tracking_file_changes,
            )
            servers.append(SessionServers([StdioServerConfig("s", "program")], context))
            return servers[0]

        async with open_tool_caller_with(workspace, "bypass", config, join_servers=join) as caller:
            await servers[0].wait_ready()
            outcomes |= await _collect_effects(caller, model, recorder, switch)
            await servers[0].close()
    return outcomes


async def _collect_effects(
    caller: ToolCaller, model: AttemptModel, recorder: AuditRecorder, switch: list[bool]
) -> Mapping[str, JsonValue]:
    process = await _prepare(caller, model)
    attempts = {name: _fill_process(attempt, process) for name, attempt in ATTEMPTS.items()}
    before = caller.workspace.snapshot()
    switch.append(True)
    recorder.is_recording = True
    outcomes: dict[str, JsonValue] = {}
    for name, attempt in attempts.items():
        outcome = await caller.call(*attempt)
        outcomes[name] = [outcome.text, recorder.take()]
    for name, attempt in attempts.items():
        (text,) = await _run_in_subagent(caller, model, attempt)
        outcomes[f"{name}, by a sub-agent"] = [text, recorder.take()]
    undone = await caller.session.context.commands.run(CommandInvocation("undo", ""), EventLog())
    outcomes["an undo"] = [undone, recorder.take()]
    outcomes["the disk"] = ["as before" if caller.workspace.snapshot() == before else "changed", []]
    switch.clear()
    for name in ALLOWED:
        outcome = await caller.call(*attempts[name])
        outcomes[f"{name}, allowed"] = [outcome.text, recorder.take()]
    recorder.is_recording = False
    return outcomes


async def _prepare(caller: ToolCaller, model: AttemptModel) -> str:
    """Import and use everything once, make a change that can be undone, start a process."""
    prompt = UserMessage((Text("change it"),))
    async with caller.session.tools.current.checkpoints.record_turn(prompt):
        caller.mark_read("README.md")
        await caller.call("write_file", {"path": "README.md", "content": "changed"})
    started = await caller.call("terminal", {"command": "exec cat", "background": True})
    process = str((started.raw_output or {})["session_id"])
    for attempt in (ATTEMPTS["read_file"], ATTEMPTS["search_files"], ATTEMPTS["web_fetch"]):
        await caller.call(*attempt)
        await _run_in_subagent(caller, model, attempt)
    return process


async def _run_in_subagent(caller: ToolCaller, model: AttemptModel, attempt: Attempt) -> list[str]:
    model.attempts, model.results = [attempt], []
    await caller.call("delegate_task", {"goal": "try"}, call_id="parent")
    return [result.text for result in model.results]


def _fill_process(attempt: Attempt, process: str) -> Attempt:
    name, arguments = attempt
    return name, {key: process if value == PROCESS else value for key, value in arguments.items()}

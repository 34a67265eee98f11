"""The tool `process`: inspects, feeds and ends commands that run in the background."""

from collections.abc import Sequence
from functools import partial
from typing import Literal

from anyio import to_thread
from pydantic import Field

from acp_server.permissions.effects import ForwardPort, RunCommandEffect, SandboxStatus
from acp_server.permissions.questions import PermissionQuestion
from acp_server.session.commands.markdown import fenced_block
from acp_server.session.ports.editor import TerminalExit
from acp_server.session.saved_outputs import SavedExcerpt
from acp_server.text.excerpt import cut_middle
from acp_server.tools.arguments import Arguments, PartialArguments
from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.display_paths import target_for
from acp_server.tools.edit.edit_flow import EditServices
from acp_server.tools.shell.background import BackgroundCommand, BackgroundCommands
from acp_server.tools.shell.errors import ShellError
from acp_server.tools.shell.output import describe_binary, is_binary, render_for_model
from acp_server.tools.shell.terminal import (
    ShellServices,
    inline_code,
    result_limits,
    with_more_if_unsaved,
)
from acp_server.tools.shell.text_pattern import TextPattern
from acp_server.tools.shortening import headline
from acp_server.tools.tool import CallDescription, Tool, TypedToolUse, build_spec
from acp_server.turn.call_access import CHANGES, CallAccess
from acp_server.turn.conversation import Text
from acp_server.turn.ports import ToolOutcome

Action = Literal["list", "poll", "log", "write", "wait", "wait_for", "kill", "forward"]

DESCRIPTION = (
    "Control background commands. poll returns new output. wait waits for the end, "
    "wait_for for a new line that matches pattern. log returns earlier lines. write sends data to "
    "stdin. forward opens a port of a sandboxed server to the user's browser."
)
NOT_LISTENING = "[nothing listens on port {port} in the sandbox yet]"
NO_PORT = "forward needs the port that the server listens on"
NO_SANDBOX = "commands are not sandboxed, so their servers already listen on this machine"
FORWARDED = "port {port} of the sandbox is at {url} on this machine, until the session ends"


class ProcessArguments(Arguments):
    """An action and the command it applies to; `timeout` is in seconds."""

    action: Action = Field(description="what to do")
    session_id: str = Field(
        default="",
        description="id from terminal; not for list and forward",
    )
    data: str = Field(default="", description="text to write")
    port: int | None = Field(default=None, ge=1, le=65_535, description="port to forward")
    pattern: str = Field(default="", description="text to wait_for; | means or, .* any text")
    timeout: float = Field(
        default=60, gt=0, le=600, description="seconds to wait (default 60, at most 600)"
    )
    offset: int | None = Field(
        default=None, ge=0, description="first log line, from 0 (default: the last lines)"
    )
    limit: int = Field(default=200, ge=1, le=2_000, description="lines of log (default 200)")


class ProcessUse(TypedToolUse[ProcessArguments]):
    """One call of `process`."""

    def __init__(
        self, services: EditServices, shell: ShellServices, reporter: CallReporter
    ) -> None:
        super().__init__(ProcessArguments, reporter)
        self._services = services
        self._background = shell.background
        self._sandbox = shell.sandbox
        self._outputs = shell.outputs

    def describe(self, so_far: PartialArguments) -> CallDescription | None:
        """Return the action and the command's id as the title."""
        action = so_far.complete_text("action")
        if action is None:
            return None
        if action == "forward":
            name = str(so_far.complete.get("port") or "")
        else:
            name = so_far.complete_text("session_id") or ""
        return CallDescription(f"Process: {action} {name}".strip())

    def access(self, arguments: ProcessArguments) -> CallAccess:
        """Return whether it looks at commands or changes them."""
        is_change = arguments.action in {"write", "kill", "forward"}
        return CHANGES if is_change else CallAccess("reads", is_polling=True)

    async def run(self, arguments: ProcessArguments) -> ToolOutcome:
        """Perform the action."""
        command_id = arguments.session_id
        # Security: text written to a shell's stdin is a command, so `write` needs permission.
        # The other actions need none, and must not hold up the questions of other calls.
        if arguments.action == "write":
            return await self._write(arguments)
        if arguments.action == "forward":
            return await self._forward(arguments.port)
        self._services.gate.yield_queue(self.reporter.call_id)
        await self.reporter.mark_in_progress()
        saved_to = ""
        match arguments.action:
            case "list":
                states = map(_status_line, self._background.list())
                text = "\n".join(states) or "there are no background commands"
            case "poll":
                text, saved_to = await self._poll(command_id)
            case "log":
                text, saved_to = await self._log(command_id, arguments)
            case "wait":
                await self._background.wait(command_id, arguments.timeout)
                text, saved_to = await self._poll(command_id)
            case "wait_for":
                text, saved_to = await self._wait_for(command_id, arguments)
            case "kill":
                text = _status_line(await self._background.kill(command_id))
        return ToolOutcome(text, saved_to=saved_to)

    async def _log(self, command_id: str, arguments: ProcessArguments) -> tuple[str, str]:
        """Return the requested lines, and the file with the output if it is too long."""
        excerpt = self._background.log(command_id, arguments.offset, arguments.limit)
        last = excerpt.first + len(excerpt.lines)
        spill = self._background.spill(command_id).describe()
        is_lost = spill and arguments.offset is not None and arguments.offset < excerpt.first
        earlier = f"; earlier ones are in {spill}" if is_lost else ""
        lines = await self._bound(command_id, "\n".join(excerpt.lines))
        header = f"[lines {excerpt.first}-{last} of {excerpt.total_lines}{earlier}]"
        return f"{header}\n{lines.text}", lines.saved_to

    async def _poll(self, command_id: str) -> tuple[str, str]:
        """Return the state and the new output, and the file with the output if it is too long."""
        state, new = self._background.poll(command_id)
        lost_note = ""
        if new.lost_bytes:
            spill = self._background.spill(command_id).describe()
            place = f"in {spill}" if spill else "lost"
            lost_note = f"[{new.lost_bytes:,} bytes before this are {place}]\n"
        output = await self._bound(command_id, new.text)
        new_text = output.text.rstrip("\n")
        text = f"{_status_line(state)}\n{lost_note}{new_text or '(nothing new)'}"
        if self._sandbox is not None and not state.access.is_unconfined:
            has_failed = state.exit not in (None, TerminalExit(code=0))
            denial = self._sandbox.describe_denial(new.text, state.access, has_failed=has_failed)
            text = f"{text}\n{denial}" if denial else text
        return text, output.saved_to

    async def _wait_for(self, command_id: str, arguments: ProcessArguments) -> tuple[str, str]:
        """Wait for output that matches; return the state and the new output in any case."""
        if not arguments.pattern:
            raise ShellError("there is no pattern to wait for")
        pattern, seconds = TextPattern(arguments.pattern), arguments.timeout
        line = await self._background.wait_for(command_id, pattern, seconds)
        earlier = "" if line else self._background.find_earlier(command_id, pattern)
        text, saved_to = await self._poll(command_id)
        if line:
            return text, saved_to
        note = f"[no new output matches {arguments.pattern!r} (plain text, | for or, .* for any)"
        note += f"; an earlier line does: {headline(earlier)}]" if earlier else "]"
        return f"{text}\n{note}", saved_to

    async def _bound(self, command_id: str, output: str) -> SavedExcerpt:
        """Return output as the model sees it, cut if it is too long."""
        if is_binary(output):
            return SavedExcerpt(describe_binary(self._background.total_bytes(command_id)))
        text = render_for_model(output, len(output))
        spill = self._background.spill(command_id)
        max_characters, head_share = result_limits(len(text))
        if len(text) <= max_characters or not spill.path():
            call_id = self.reporter.call_id
            excerpt = await self._outputs.excerpt(call_id, text, max_characters, head_share)
            return with_more_if_unsaved(excerpt, text)
        excerpt = cut_middle(text, max_characters, spill.describe(), head_share=head_share)
        return SavedExcerpt(excerpt, spill.path())

    async def _write(self, arguments: ProcessArguments) -> ToolOutcome:
        state = await self._background.wait(arguments.session_id, 0)  # returns the state at once
        if state.exit is not None:
            raise ShellError(f"{state.id} has ended, so nothing can be written to it")
        if not arguments.data:
            raise ShellError("there is no data to write")
        resolved = await self._services.resolve(str(state.cwd))
        # Input runs in the command's own sandbox.
        sandbox_status: SandboxStatus = "free"
        if self._sandbox is not None:
            sandbox_status = await self._sandbox.status(is_unconfined=state.access.is_unconfined)
        question = PermissionQuestion(
            call_id=self.reporter.call_id,
            effect=RunCommandEffect(
                arguments.data, target_for(resolved), is_input=True, sandbox_status=sandbox_status
            ),
            title=f"Write to {state.id}: {inline_code(headline(state.command))}",
            kind="execute",
            content=(Text(fenced_block(arguments.data)),),
        )
        await self.require_permission(self._services.gate, question)
        # The input may make the command change files, like a command of its own.
        await self._services.checkpoints.before_command()
        self._services.files.note_command()
        await self._background.write(state.id, arguments.data.encode())
        return ToolOutcome(f"wrote {len(arguments.data):,} characters")

    async def _forward(self, port: int | None) -> ToolOutcome:
        """Make a port of the sandbox reachable from this machine, if the user agrees."""
        if self._sandbox is None:
            raise ShellError(NO_SANDBOX)
        if port is None:
            raise ShellError(NO_PORT)
        question = PermissionQuestion(
            call_id=self.reporter.call_id,
            effect=ForwardPort(port, self._sandbox.network.ports()),
            title=f"Make port {port} reachable from this machine?",
            kind="execute",
        )
        await self.require_permission(self._services.gate, question)
        forwarded = await self._sandbox.forward(port)
        listening = await to_thread.run_sync(
            self._sandbox.network.listening_ports, abandon_on_cancel=True
        )
        note = "" if port in listening else f"\n{NOT_LISTENING.format(port=port)}"
        return ToolOutcome(FORWARDED.format(port=port, url=forwarded.url) + note)


def _status_line(state: BackgroundCommand) -> str:
    """Return the state of a command as one line."""
    if state.exit is None:
        status = f"running for {state.running_seconds:.0f} s"
    elif state.exit.signal:
        status = f"ended by {state.exit.signal}"
    else:
        status = f"exit code {state.exit.code}"
    return f"{state.id}: {status}, {state.total_lines} lines: {headline(state.command)}"


def take_end_notices(background: BackgroundCommands) -> Sequence[str]:
    """Return a notice for the model about each command that has ended, once per command."""
    return [
        f"[A background command has ended: {_status_line(state)}; "
        'process(action="log") shows its output]'
        for state in background.take_newly_ended()
    ]


def process_tool(services: EditServices, shell: ShellServices) -> Tool:
    """Return the tool for a session."""
    spec = build_spec("process", DESCRIPTION, ProcessArguments)
    create_use = partial(ProcessUse, services, shell)
    return Tool(spec, "execute", "Background commands", create_use, returns_data=True)

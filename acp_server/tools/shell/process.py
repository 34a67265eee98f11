"""The tool `process`: inspects, feeds and ends commands that run in the background."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Literal

from pydantic import Field

from acp_server.permissions.effects import RunCommand, Standing, Target
from acp_server.permissions.questions import Question
from acp_server.session.commands.markdown import block
from acp_server.session.ports.editor import Exit
from acp_server.tools.arguments import Arguments, SoFar
from acp_server.tools.call_reporter import Report
from acp_server.tools.display_paths import target_of
from acp_server.tools.edit.edit_flow import Workshop
from acp_server.tools.shell.background import BackgroundCommand, BackgroundCommands
from acp_server.tools.shell.confinement.denials import denial_in
from acp_server.tools.shell.errors import ShellError
from acp_server.tools.shell.output import for_model
from acp_server.tools.shell.terminal import MOST_RESULT_CHARACTERS, Shell, code, headline
from acp_server.tools.tool import Description, Tool, Use, spec_of
from acp_server.turn.conversation import Text
from acp_server.turn.ports import Outcome

Action = Literal["list", "poll", "log", "write", "wait", "kill"]

DESCRIPTION = (
    "Background commands: list, poll (news since last time), log (lines from offset), write (data "
    "to stdin), wait (up to timeout seconds), kill."
)


class ProcessArguments(Arguments):
    """An action and the command it applies to; `timeout` is in seconds."""

    action: Action
    session_id: str = ""
    data: str = ""
    timeout: float = Field(default=60, gt=0, le=600)
    offset: int | None = Field(default=None, ge=0)
    limit: int = Field(default=200, ge=1, le=2_000)


class ProcessUse(Use[ProcessArguments]):
    """One call of `process`."""

    def __init__(self, workshop: Workshop, shell: Shell, report: Report) -> None:
        super().__init__(ProcessArguments, report)
        self._workshop = workshop
        self._background = shell.background
        self._sandbox = shell.sandbox

    def describe(self, so_far: SoFar) -> Description | None:
        """Return the action and the command's id as the title."""
        action = so_far.whole("action")
        if action is None:
            return None
        return Description(f"Process: {action} {so_far.whole('session_id') or ''}".strip())

    async def run(self, arguments: ProcessArguments) -> Outcome:
        """Perform the action."""
        actions: Mapping[Action, Callable[[ProcessArguments], Awaitable[Outcome]]] = {
            "list": self._list,
            "poll": self._poll,
            "log": self._log,
            "write": self._write,
            "wait": self._wait,
            "kill": self._kill,
        }
        try:
            # Security: text written to a shell's stdin is a command, so `write` needs permission.
            # The other actions need none, and must not hold up the questions of other calls.
            if arguments.action != "write":
                self._workshop.gate.step_aside(self.report.call_id)
                await self.report.begin()
            return await actions[arguments.action](arguments)
        except ShellError as error:
            return Outcome(error.reason, is_error=True)

    async def _list(self, arguments: ProcessArguments) -> Outcome:
        del arguments
        states = self._background.list()
        return Outcome("\n".join(map(_line, states)) or "there are no background commands")

    async def _poll(self, arguments: ProcessArguments) -> Outcome:
        poll = self._background.poll(arguments.session_id)
        lost = f"[{poll.lost_bytes:,} bytes before this are lost]\n" if poll.lost_bytes else ""
        news = for_model(poll.text, MOST_RESULT_CHARACTERS).rstrip("\n")
        denial = self._denial(poll.state, poll.text)
        return Outcome(f"{_line(poll.state)}\n{lost}{news or '(nothing new)'}{denial}")

    async def _log(self, arguments: ProcessArguments) -> Outcome:
        excerpt = self._background.log(arguments.session_id, arguments.offset, arguments.limit)
        last = excerpt.first + len(excerpt.lines)
        text = for_model("\n".join(excerpt.lines), MOST_RESULT_CHARACTERS)
        return Outcome(f"[lines {excerpt.first}-{last} of {excerpt.total_lines}]\n{text}")

    async def _write(self, arguments: ProcessArguments) -> Outcome:
        state = await self._background.wait(arguments.session_id, 0)  # returns the state at once
        if state.exit is not None:
            raise ShellError(f"{state.id} has ended; it reads nothing any more")
        if not arguments.data:
            raise ShellError("there is no data to write")
        place = await self._workshop.place(str(state.cwd))
        question = Question(
            call_id=self.report.call_id,
            effect=await self._input(arguments.data, state, target_of(place)),
            title=f"Write to {state.id}: {code(headline(state.command))}",
            kind="execute",
            content=(Text(block(arguments.data)),),
        )
        refusal = await self._workshop.gate.pass_through(question)
        if refusal is not None:
            return Outcome(refusal.reason, is_error=True)
        await self.report.begin()
        # The input may make the command change files, like a command of its own.
        await self._workshop.keeping.before_command()
        self._workshop.desk.note_command()
        await self._background.write(state.id, arguments.data.encode())
        return Outcome(f"wrote {len(arguments.data):,} characters")

    async def _input(self, data: str, state: BackgroundCommand, cwd: Target) -> RunCommand:
        """Return the effect of writing to a command: input runs in the command's own sandbox."""
        standing: Standing = "free"
        if self._sandbox is not None:
            standing = await self._sandbox.standing(is_unconfined=state.is_unconfined)
        return RunCommand(data, cwd, is_input=True, standing=standing)

    async def _wait(self, arguments: ProcessArguments) -> Outcome:
        state = await self._background.wait(arguments.session_id, arguments.timeout)
        return Outcome(_line(state))

    def _denial(self, state: BackgroundCommand, output: str) -> str:
        if self._sandbox is None or state.is_unconfined:
            return ""
        has_failed = state.exit is not None and state.exit != Exit(code=0)
        has_network = self._sandbox.territory.rules.has_network
        denial = denial_in(output, has_failed=has_failed, has_network=has_network)
        return f"\n{denial}" if denial else ""

    async def _kill(self, arguments: ProcessArguments) -> Outcome:
        return Outcome(_line(await self._background.kill(arguments.session_id)))


def _line(state: BackgroundCommand) -> str:
    """Return the state of a command as one line."""
    if state.exit is None:
        status = f"running for {state.running_seconds:.0f} s"
    elif state.exit.signal:
        status = f"ended by {state.exit.signal}"
    else:
        status = f"exit code {state.exit.code}"
    return f"{state.id}: {status}, {state.total_lines} lines: {headline(state.command)}"


def ends_of(background: BackgroundCommands) -> Sequence[str]:
    """Return a notice for the model about each command that has ended, once per command."""
    return [
        f'[A background command has ended: {_line(state)}; process(action="log") shows its output]'
        for state in background.take_ends()
    ]


def process_tool(workshop: Workshop, shell: Shell) -> Tool:
    """Return the tool for a session."""
    spec = spec_of("process", DESCRIPTION, ProcessArguments)
    return Tool(spec, "execute", "Background commands", partial(ProcessUse, workshop, shell))

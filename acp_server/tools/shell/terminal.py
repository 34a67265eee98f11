"""The tool `terminal`: runs a shell command and shows its output live, as the editor can."""

import re
from collections.abc import Awaitable, Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from uuid import uuid4

import anyio
from anyio import to_thread
from pydantic import Field, JsonValue

from acp_server.permissions.effects import RunCommandEffect, SandboxStatus, WorkspaceProgram
from acp_server.permissions.network_access import NetworkAccess
from acp_server.permissions.questions import PermissionQuestion
from acp_server.permissions.shell.assessment import (
    assess,
    list_command_words,
    list_printed_files,
)
from acp_server.permissions.shielded_files import Shield
from acp_server.permissions.symlinks import resolve_links
from acp_server.session.commands.markdown import fenced_block
from acp_server.session.ports.editor import (
    EditorAnswerError,
    EditorError,
    EditorPort,
    EditorTerminal,
    TerminalCommand,
    TerminalExit,
    TerminalOutput,
)
from acp_server.session.saved_outputs import SavedExcerpt, SavedOutputs
from acp_server.text.excerpt import HEAD_SHARE, cut_middle
from acp_server.tools.arguments import Arguments, PartialArguments
from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.display_paths import target_for
from acp_server.tools.edit.edit_flow import EditServices
from acp_server.tools.files.errors import FileError
from acp_server.tools.files.notebooks import visible_text
from acp_server.tools.files.paths import ResolvedPath
from acp_server.tools.files.snapshot import FileSnapshot
from acp_server.tools.shell.background import BackgroundCommands
from acp_server.tools.shell.command_access import CONFINED, CommandAccess
from acp_server.tools.shell.command_diffs import command_diffs
from acp_server.tools.shell.confinement.command_origin import CommandOrigin
from acp_server.tools.shell.confinement.sandbox import SessionSandbox, TerminalConfinement
from acp_server.tools.shell.editor_terminal import (
    build_terminal_argv,
    build_terminal_environment,
    has_sandbox_failed,
)
from acp_server.tools.shell.errors import ShellError
from acp_server.tools.shell.live_output import (
    TERMINAL_FLUSH_SECONDS,
    TEXT_CHARACTERS,
    TEXT_FLUSH_SECONDS,
    OutputView,
    TerminalOutputView,
    TextOutputView,
    output_block,
    run_with_view,
)
from acp_server.tools.shell.named_paths import find_named_paths
from acp_server.tools.shell.output import OutputLog, describe_binary, is_binary, render_for_model
from acp_server.tools.shell.session import CommandResult, ShellSession
from acp_server.tools.shell.spill import SpillFile
from acp_server.tools.shortening import headline
from acp_server.tools.tool import CallDescription, Tool, TypedToolUse, build_spec
from acp_server.tools.tool_settings import DEFAULT_COMMAND_SECONDS, MAX_COMMAND_SECONDS
from acp_server.turn.call_access import CHANGES, CallAccess
from acp_server.turn.conversation import Text
from acp_server.turn.events import CallChanged, CallContent, Location, TerminalView
from acp_server.turn.ports import ToolOutcome

DESCRIPTION = (
    "Run a bash command. Each command gets a new shell in the workspace, without stdin. "
    "To read, search, list or edit files, use the other tools."
)
CONFINED_DESCRIPTION = (
    "{plain} They run in a sandbox: they can write only in the workspace and $TMPDIR, and "
    "have a localhost of their own (none in some containers). If one fails because of that, run it "
    "again with network=true or unconfined=true; the user is asked."
)
OTHER_TIMEOUT = " On this machine the default timeout is {seconds:g} s."
MAX_RESULT_CHARACTERS = 10_000
HUGE_OUTPUT_CHARACTERS = 30_000
HUGE_RESULT_CHARACTERS = 2_300
"""Of a huge output the model reads less: it has to search the saved file anyway."""
HUGE_HEAD_SHARE = 0.4
"""Errors and summaries are at the end."""
WAITING_COMMANDS = {("sleep",), ("wait",), ("watch",)}
"""Commands that do nothing but wait: a command line with one of them polls for something."""
NOT_SAVED = (
    "[this output could not be saved in a file, perhaps because the disk is full: what is left out "
    "can be had only by running the command again, with less output]"
)
LOG_HALF_BYTES = 256 * 1024
EDITOR_ANSWER_SECONDS = 5.0
"""Timeout of an editor's answer when asked to kill a command or to return its output."""
CANCELLED_ANSWER_SECONDS = 0.1
"""The same while the turn is being cancelled: half of the time that a cancellation may take."""
EDITOR_UNUSABLE = (
    "Your editor answered a request for a terminal without naming one, so commands run in "
    "acp-server itself from now on."
)
EDITOR_SILENT = (
    "it did not answer, but the command may have started; if you run it again, it runs without "
    "the editor"
)
BEGINNING_LOST = "[the beginning is lost]"
NUL_IN_COMMAND = "a command cannot hold a NUL character"


class TerminalArguments(Arguments):
    """A command and its directory; `timeout` is in seconds."""

    command: str = Field(min_length=1, description="bash command line")
    timeout: float = Field(
        default=DEFAULT_COMMAND_SECONDS,
        gt=0,
        le=MAX_COMMAND_SECONDS,
        description="seconds until it is stopped (default 180, at most 3600)",
    )
    workdir: str | None = Field(
        default=None, description="folder to run in (default: the workspace)"
    )
    background: bool = Field(
        default=False,
        description="for servers and long jobs; then use process (default false)",
    )


class ConfinedArguments(TerminalArguments):
    """Arguments if there is a sandbox, outside which the model may ask to run a command."""

    network: bool = Field(default=False, description="with access to the network (default false)")
    unconfined: bool = Field(default=False, description="outside the sandbox (default false)")


def _ignore_notice(text: str) -> None:
    del text


@dataclass(slots=True)
class ShellServices:
    """Dependencies of the commands of one session, or of one sub-agent."""

    session: ShellSession
    background: BackgroundCommands
    editor: EditorPort
    secret_names: Collection[str]
    outputs: SavedOutputs
    """Keeps outputs that are too long for the conversation."""
    sandbox: SessionSandbox | None = None
    describe_exposure: Callable[[], str] = str
    """Returns which secrets a command could read outside the sandbox. Blocks."""
    timeout_seconds: float = DEFAULT_COMMAND_SECONDS
    """How long a command may take unless the model says otherwise."""
    notify: Callable[[str], None] = _ignore_notice
    """Tells the user something outside of the call."""
    has_editor_failed: bool = False
    """Whether the editor's terminals have failed to run a command; they are not used again."""


class TerminalUse(TypedToolUse[TerminalArguments]):
    """One call of `terminal`."""

    def __init__(
        self, services: EditServices, shell: ShellServices, reporter: CallReporter
    ) -> None:
        super().__init__(ConfinedArguments if shell.sandbox else TerminalArguments, reporter)
        self._services = services
        self._shell = shell
        self._spill, self._log = self._new_log()
        self._view: TerminalView | None = None
        self._output_view: TerminalOutputView | None = None
        self._sandbox_status: SandboxStatus = "free"
        self._origin = CommandOrigin(reporter.call_id, "", services.gate)
        self._access = CONFINED
        self._network_before: NetworkAccess = "off"
        self._shield: Shield | None = None

    def _new_log(self) -> tuple[SpillFile, OutputLog]:
        spill = SpillFile(self._shell.outputs, self.reporter.call_id)
        return spill, OutputLog(LOG_HALF_BYTES, LOG_HALF_BYTES, spill)

    def describe(self, so_far: PartialArguments) -> CallDescription | None:
        """Return the first line of the command as the title, as far as it was received."""
        command = so_far.text("command").strip()
        if not command:
            return None
        title = inline_code(headline(command))
        workdir = so_far.complete_text("workdir") or "."
        return CallDescription(title, self._services.locations_of(workdir))

    def access(self, arguments: TerminalArguments) -> CallAccess:
        """Return whether the command only reads, as the gate judges it. Blocks."""
        command = arguments.command
        try:
            cwd = resolve_links(self._services.lexical_path(arguments.workdir or "."))
        except (FileError, OSError):
            return CHANGES
        assessment = assess(command, str(cwd), str(self._services.home))
        is_reading = assessment.verdict == "reads"
        session = self._shell.session
        # A program of the workspace may do anything, whatever its name.
        if is_reading and session.find_workspace_programs_now(assessment.programs, cwd):
            is_reading = False
        words = list_command_words(command) or ()
        is_polling = any(each[:1] in WAITING_COMMANDS for each in words)
        return CallAccess("reads" if is_reading else "changes", is_polling=is_polling)

    async def run(self, arguments: TerminalArguments) -> ToolOutcome:
        """Ask permission, run the command, return its output."""
        if "\0" in arguments.command:
            raise ShellError(NUL_IN_COMMAND)
        if "timeout" not in arguments.model_fields_set:
            arguments = arguments.model_copy(update={"timeout": self._shell.timeout_seconds})
        resolved = await self._services.resolve(arguments.workdir or ".")
        if self._shell.sandbox is not None and isinstance(arguments, ConfinedArguments):
            self._sandbox_status = await self._shell.sandbox.status(
                is_unconfined=arguments.unconfined, needs_network=arguments.network
            )
            self._network_before = self._shell.sandbox.network.choice()
        command = self._origin.command = arguments.command
        assessment = assess(command, str(resolved.real), str(self._services.home))
        programs = await self._shell.session.find_workspace_programs(
            assessment.programs, resolved.real
        )
        is_isolated, exposure = False, ""
        if self._shell.sandbox is not None and self._sandbox_status == "confined":
            is_isolated = await self._shell.sandbox.can_shield()
        if self._sandbox_status == "unconfined":
            exposure = await to_thread.run_sync(
                self._shell.describe_exposure, abandon_on_cancel=True
            )
        # Security: without such programs the gate may let the command run without a question, and
        # a program that the project adds meanwhile must not be found.
        only_reads = not programs and assessment.verdict == "reads"
        await self.require_permission(
            self._services.gate,
            self._build_question(resolved, arguments, programs, exposure, is_isolated=is_isolated),
        )
        self._access = CommandAccess(
            self._origin,
            is_unconfined=self._sandbox_status == "unconfined",
            has_network=self._has_network(),
            shield=self._shield,
            only_reads=only_reads,
        )
        outcome = await self._run_tracked(arguments, resolved.real)
        if not outcome.is_error and only_reads:
            await self._note_printed_files(arguments.command, resolved.real, outcome.text)
        place = resolved.real, self._services.home
        touched_paths = await to_thread.run_sync(
            find_named_paths, arguments.command, *place, abandon_on_cancel=True
        )
        return replace(outcome, touched_paths=touched_paths)

    async def _run_tracked(self, arguments: TerminalArguments, cwd: Path) -> ToolOutcome:
        """Run the command, and show which files it changed."""
        # Security: runs in the resolved directory that was asked about. A link that is replaced
        # meanwhile cannot lead the command elsewhere.
        async with self._services.running_command() as command_run:
            run = self._start_in_background if arguments.background else self._run_in_foreground
            try:
                outcome = await run(arguments, cwd)
            except EditorError as error:
                raise ShellError(f"the editor did not run it: {error.reason}") from error
        if self._access.only_reads or arguments.background or outcome.shown is None:
            return outcome
        changes = await self._services.checkpoints.changes_of(command_run)
        diffs = await command_diffs(self._services, changes)
        if not diffs:
            return outcome
        # A command that prints nothing has an empty text, which would stand above the diffs.
        printed = (part for part in outcome.shown if part != Text(""))
        return replace(outcome, shown=(*printed, *diffs))

    @property
    def _is_confined(self) -> bool:
        return self._sandbox_status in {"confined", "networked"}

    def _has_network(self) -> bool:
        """Return whether the user has just allowed the network for this command."""
        sandbox = self._shell.sandbox
        if sandbox is None or self._sandbox_status != "networked":
            return False
        # The user may have chosen to be asked for each host instead.
        return self._network_before != "off" or sandbox.network.choice() != "hosts"

    async def _note_printed_files(self, command: str, cwd: Path, output: str) -> None:
        """Count files that the command printed whole as read, if the output is their text."""
        found: list[FileSnapshot] = []
        for path in list_printed_files(command, str(cwd)):
            try:
                resolved = await self._services.files.resolve(path)
                snapshot = await self._services.files.read_if_exists(resolved)
            except FileError:
                return
            if snapshot is None:
                return
            found.append(snapshot)
        if "".join(each.text for each in found).rstrip("\n") != output:
            return
        seen, call_id, lines_before = self._services.guard.seen, self.reporter.call_id, 0
        for each in found:
            path, text = each.resolved.real, visible_text(each.resolved.real, each.text)
            lines = (1, len(each.text))
            seen.note_read(str(path), text, lines, call_id, output, lines_before)
            lines_before += each.text.count("\n")

    def interrupted_outcome(self, reason: str) -> ToolOutcome:
        """Return the output so far. Does not await: a cancelled turn cannot wait for the end."""
        if self._output_view is not None:
            self._output_view.end(None, None)
        output = self._excerpt()
        text = f"{reason}\nIt had printed:\n{output.text}" if output.text.strip() else reason
        shown = self._shown_content(reason)
        return ToolOutcome(text, is_error=True, shown=shown, saved_to=output.saved_to)

    def _excerpt(self) -> SavedExcerpt:
        """Return the output; if it is too long, its head and tail and the file with all of it.

        It blocks for a write of at most `LOG_HALF_BYTES` twice; a cancelled call cannot await.
        """
        text = self._log.text()
        if is_binary(text):
            return SavedExcerpt(describe_binary(self._log.total_bytes))
        text = render_for_model(text, len(text))
        if self._log.is_complete:
            limits = result_limits(len(text))
            excerpt = self._shell.outputs.excerpt_now(self.reporter.call_id, text, *limits)
            return with_more_if_unsaved(excerpt, text)
        source, total = self._spill.describe(), self._spill.characters
        max_characters, head_share = result_limits(total)
        shown = cut_middle(text, max_characters, source, total, head_share)
        return with_more_if_unsaved(SavedExcerpt(shown, self._spill.path()), text, total)

    def _build_question(
        self,
        resolved: ResolvedPath,
        arguments: TerminalArguments,
        programs: tuple[WorkspaceProgram, ...],
        exposure: str,
        *,
        is_isolated: bool,
    ) -> PermissionQuestion:
        command = arguments.command
        description = self.describe(PartialArguments({"command": command}, {}))
        return PermissionQuestion(
            call_id=self.reporter.call_id,
            effect=RunCommandEffect(
                command,
                target_for(resolved),
                sandbox_status=self._sandbox_status,
                is_isolated=is_isolated,
                workspace_programs=programs,
                exposure=exposure,
            ),
            title=description.title if description else "Run a command",
            kind="execute",
            content=(Text(fenced_block(command, "sh")),),
            locations=(Location(str(resolved.path)),),
            note_shield=self._note_shield,
        )

    def _note_shield(self, shield: Shield) -> None:
        self._shield = shield

    async def _start_in_background(self, arguments: TerminalArguments, cwd: Path) -> ToolOutcome:
        started = await self._shell.background.start(arguments.command, cwd, self._access)
        return ToolOutcome(
            f"started in the background; session_id {started.id} (see the process tool)",
            raw_output={"session_id": started.id},
        )

    async def _run_in_foreground(self, arguments: TerminalArguments, cwd: Path) -> ToolOutcome:
        editor = self._shell.editor
        # An editor that can display our output gets that rather than an ACP terminal: a command
        # that runs in this process can be confined here and ended with all that it started.
        # Nor does one that has secret variables run there: they would go through the editor, and
        # its output could not be redacted.
        is_usable = editor.has_terminals and not editor.shows_output
        has_variables = self._shell.session.variables.hidden_values.pattern is not None
        if is_usable and not has_variables and not self._shell.has_editor_failed:
            outcome = await self._run_in_editor(arguments, cwd)
            if outcome is not None:
                return outcome
        if editor.shows_output:
            return await self._run_shown(arguments, cwd)
        view = TextOutputView(self.reporter, self._log)
        result = await self._run_locally(arguments, cwd, view, TEXT_FLUSH_SECONDS)
        return await self._outcome(result, arguments)

    async def _run_shown(self, arguments: TerminalArguments, cwd: Path) -> ToolOutcome:
        """Run the command in this process, and show its output in the editor as a terminal."""
        view = self._output_view = TerminalOutputView(self.reporter, f"term_{uuid4().hex}")
        await view.open(str(cwd))
        self._view = view.view
        # Repeats the title: some editors take the update that opens a terminal for a new call.
        title = inline_code(headline(arguments.command))
        await self.reporter.emit(CallChanged(self.reporter.call_id, title=title))
        exit_status = TerminalExit()
        try:
            result = await self._run_locally(arguments, cwd, view, TERMINAL_FLUSH_SECONDS)
            exit_status = result.exit
        finally:
            view.end(exit_status.code, exit_status.signal)
        return await self._outcome(result, arguments)

    async def _run_locally(
        self, arguments: TerminalArguments, cwd: Path, view: OutputView, interval_seconds: float
    ) -> CommandResult:
        result = CommandResult(TerminalExit(), timed_out=False)

        def receive(chunk: bytes) -> None:
            self._log.write(chunk)
            view.write(chunk)

        async def work() -> None:
            nonlocal result
            result = await self._shell.session.run(
                arguments.command, cwd, receive, arguments.timeout, self._access
            )

        await run_with_view(view, interval_seconds, work)
        return result

    async def _run_in_editor(self, arguments: TerminalArguments, cwd: Path) -> ToolOutcome | None:
        """Run the command in one of the editor's terminals, which is released in any case.

        Returns None if the command was not run there: the sandbox launcher does not exist where
        the editor runs commands, or the editor's answer names no terminal. It is then run in this
        process.

        Raises:
            EditorError: The editor refused, perhaps because the user did, so the command must not
                be run in another way. Or it did not answer and may have started the command, which
                must not be started twice.
        """
        confinement = await self._confine_in_editor()
        argv = build_terminal_argv(arguments.command, self._shell.secret_names, confinement)
        variables = build_terminal_environment(only_reads=self._access.only_reads)
        variables |= confinement.variables
        if self._access.only_reads:
            search_path = await self._shell.session.safe_search_path()
            variables |= {"PATH": search_path} if search_path else {}
        terminal = await self._open_terminal(
            TerminalCommand(argv, cwd, variables, 2 * LOG_HALF_BYTES, self.reporter.call_id)
        )
        if terminal is None:
            return None
        self._view = TerminalView(terminal.id)
        try:
            await self.reporter.show((self._view,))
            result = await self._follow(terminal, arguments.timeout)
        except EditorError as error:
            await self._kill_and_keep_output(terminal)
            return self.interrupted_outcome(f"the editor's terminal failed: {error.reason}")
        except anyio.get_cancelled_exc_class():
            # The output must be fetched before the release: it is gone after that.
            await self._kill_and_keep_output(terminal)
            raise
        finally:
            await terminal.release()
        if self._is_confined and has_sandbox_failed(result.exit.code, self._log.text()):
            self._shell.has_editor_failed = True
            self._view = None
            self._spill, self._log = self._new_log()
            return None
        return await self._outcome(result, arguments)

    async def _open_terminal(self, command: TerminalCommand) -> EditorTerminal | None:
        """Open a terminal of the editor; None if its answer names none."""
        try:
            return await self._shell.editor.open_terminal(command)
        except TimeoutError:
            self._shell.has_editor_failed = True
            raise EditorError(EDITOR_SILENT) from None
        except EditorAnswerError:
            # Without an id it can be neither watched nor ended there, if it runs at all.
            if not self._shell.has_editor_failed:
                self._shell.has_editor_failed = True
                self._shell.notify(EDITOR_UNUSABLE)
            return None

    async def _confine_in_editor(self) -> TerminalConfinement:
        if self._shell.sandbox is None or not self._is_confined:
            return TerminalConfinement()
        has_network = self._access.has_network
        return await self._shell.sandbox.wrap_terminal_command(
            self._origin, has_network=has_network, shield=self._shield
        )

    async def _follow(self, terminal: EditorTerminal, timeout_seconds: float) -> CommandResult:
        exit_status = TerminalExit()
        with anyio.move_on_after(timeout_seconds) as timeout_scope:
            exit_status = await terminal.wait()
        if timeout_scope.cancelled_caught:
            await _try(terminal.kill)
        terminal_output = await _read_output(
            terminal
        )  # after the kill, so it has all that was printed
        self._log_output(terminal_output)
        return CommandResult(
            exit_status if exit_status != TerminalExit() else terminal_output.exit or exit_status,
            timeout_scope.cancelled_caught,
        )

    async def _kill_and_keep_output(self, terminal: EditorTerminal) -> None:
        """Kill the command and keep its output, also while the turn is being cancelled."""
        # Shielded: the cancellation would end the requests to the editor at once. Both are sent
        # at the same time, for there is no time to wait for one after the other.
        with anyio.move_on_after(CANCELLED_ANSWER_SECONDS, shield=True):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_try, terminal.kill)
                self._log_output(await _read_output(terminal))

    def _log_output(self, terminal_output: TerminalOutput) -> None:
        text = terminal_output.text
        if terminal_output.is_truncated:
            # What is left of the first line would be taken for a line: 2 for 125102.
            whole_lines = text.partition("\n")[2]
            text = f"{BEGINNING_LOST}\n{whole_lines or text}"
        self._log.write(text.encode(errors="replace"))

    async def _outcome(self, result: CommandResult, arguments: TerminalArguments) -> ToolOutcome:
        output = await to_thread.run_sync(self._excerpt)
        status, denial, sandbox = _status(result, arguments), "", self._shell.sandbox
        if sandbox is not None and self._is_confined:
            has_failed = result.timed_out or result.exit != TerminalExit(code=0)
            denial = sandbox.describe_denial(self._log.text(), self._access, has_failed=has_failed)
        raw: dict[str, JsonValue] = {
            "exit_code": result.exit.code,
            "signal": result.exit.signal,
            "timed_out": result.timed_out,
        }
        parts = (output.text.rstrip("\n"), status, denial)
        text = "\n".join(filter(None, parts)) or "(no output)"
        has_failed = result.timed_out or bool(result.exit.signal or result.exit.code)
        return ToolOutcome(
            text,
            has_failed,
            shown=self._shown_content(status, denial),
            raw_output=raw,
            saved_to=output.saved_to,
        )

    def _shown_content(self, status: str, denial: str = "") -> tuple[CallContent, ...]:
        denial_content = (Text(denial),) if denial else ()
        if self._view is not None:
            return (self._view, *denial_content)
        output = self._log.text()
        block = (Text(output_block(output, TEXT_CHARACTERS)),) if output.strip() else ()
        return (
            (*block, Text(status), *denial_content)
            if status or not block
            else (*block, *denial_content)
        )


async def _try(request: Callable[[], Awaitable[None]]) -> None:
    """Run `request`; ignore an error of the editor, and its silence after a timeout."""
    with anyio.move_on_after(EDITOR_ANSWER_SECONDS), suppress(EditorError):
        await request()


async def _read_output(terminal: EditorTerminal) -> TerminalOutput:
    """Return the output of an editor's terminal, or the reason why it is unknown."""
    reason = f"no answer within {EDITOR_ANSWER_SECONDS:g} s"
    with anyio.move_on_after(EDITOR_ANSWER_SECONDS):
        try:
            return await terminal.output()
        except EditorError as error:
            reason = error.reason
    return TerminalOutput(f"[the editor did not return the output: {reason}]")


def result_limits(characters: int) -> tuple[int, float]:
    """Return how much of an output the model gets, and which share of it is the beginning."""
    if characters > HUGE_OUTPUT_CHARACTERS:
        return HUGE_RESULT_CHARACTERS, HUGE_HEAD_SHARE
    return MAX_RESULT_CHARACTERS, HEAD_SHARE


def with_more_if_unsaved(
    excerpt: SavedExcerpt, text: str, total_characters: int | None = None
) -> SavedExcerpt:
    """Return an excerpt of an output, longer if the rest can be read nowhere, as on a full disk."""
    if excerpt.saved_to or excerpt.text == text:
        return excerpt
    shown = cut_middle(text, HUGE_OUTPUT_CHARACTERS, "", total_characters)
    note = "" if shown == text else f"\n{NOT_SAVED}"
    return SavedExcerpt(shown.removesuffix("\n") + note)


def inline_code(text: str) -> str:
    """Return a line as Markdown inline code, fenced by more backticks than it contains."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence, pad = "`" * (longest + 1), " " if longest else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _status(result: CommandResult, arguments: TerminalArguments) -> str:
    if result.timed_out:
        return (
            f"[stopped after {arguments.timeout:g} s, with all processes that it started; give a "
            "longer timeout, or background=true]"
        )
    if result.exit.signal is not None:
        return f"[ended by {result.exit.signal}]"
    if result.exit.code is None:
        return "[ended; the editor did not say how]"
    return f"[exit code {result.exit.code}]" if result.exit.code else ""


def terminal_tool(services: EditServices, shell: ShellServices) -> Tool:
    """Return the tool for a session."""
    description, arguments = DESCRIPTION, TerminalArguments
    if shell.sandbox is not None:
        description, arguments = CONFINED_DESCRIPTION.format(plain=DESCRIPTION), ConfinedArguments
    if shell.timeout_seconds != DEFAULT_COMMAND_SECONDS:
        description += OTHER_TIMEOUT.format(seconds=shell.timeout_seconds)
    spec = build_spec("terminal", description, arguments)
    create_use = partial(TerminalUse, services, shell)
    return Tool(spec, "execute", "Run a command", create_use, returns_data=True)

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

from acp_server.permissions.effects import RunCommand, Standing
from acp_server.permissions.questions import Question
from acp_server.session.ports.editor import (
    Editor,
    EditorError,
    EditorTerminal,
    Exit,
    Launch,
    Screenful,
)
from acp_server.tools.arguments import Arguments, SoFar
from acp_server.tools.call_reporter import Report
from acp_server.tools.display_paths import target_of
from acp_server.tools.edit.edit_flow import Workshop
from acp_server.tools.files.errors import FileError
from acp_server.tools.files.paths import Place
from acp_server.tools.shell.background import BackgroundCommands
from acp_server.tools.shell.command import Ended, LocalCommand
from acp_server.tools.shell.confinement.denials import denial_in
from acp_server.tools.shell.confinement.sandbox import ConfinedElsewhere, SessionSandbox
from acp_server.tools.shell.editor_terminal import UNATTENDED, argv_elsewhere, was_not_confined
from acp_server.tools.shell.errors import ShellError
from acp_server.tools.shell.live_output import (
    PIECES_SECONDS,
    TEXT_CHARACTERS,
    TEXT_SECONDS,
    Showing,
    TerminalShow,
    TextShow,
    block,
    fenced,
    show_while,
)
from acp_server.tools.shell.named_paths import named_paths
from acp_server.tools.shell.output import OutputLog, for_model
from acp_server.tools.shell.session import ShellSession
from acp_server.tools.tool import Description, Tool, Use, spec_of
from acp_server.turn.conversation import Text
from acp_server.turn.events import CallChanged, CallContent, Location, TerminalView
from acp_server.turn.ports import Outcome

DESCRIPTION = (
    "Run a bash command in the workspace (workdir: elsewhere), each in a fresh shell without "
    "stdin. background=true for servers and long jobs: returns a session_id for the process tool. "
    "Do not use it to read, search or edit files."
)
CONFINED_DESCRIPTION = (
    "{plain} Commands run in a sandbox: they write in the workspace and temporary folders only"
    "{network}. Only if one fails for that, run it again with unconfined=true: the user is asked."
)
DEFAULT_TIMEOUT_SECONDS = 180
MOST_TIMEOUT_SECONDS = 3_600
MOST_RESULT_CHARACTERS = 30_000
LOG_BYTES = 256 * 1024
MOST_TITLE_CHARACTERS = 120
ANSWER_SECONDS = 5.0
"""Timeout of an editor's answer when asked to kill a command or to return its output."""
LAST_WORDS_SECONDS = 0.1
"""The same while the turn is being cancelled: half of the time that a cancellation may take."""
SILENT = (
    "it did not answer, and may have begun the command all the same; if you run it again, it runs "
    "without the editor"
)
NUL = "a command cannot hold a NUL character"


class TerminalArguments(Arguments):
    """A command and its directory; `timeout` is in seconds."""

    command: str = Field(min_length=1)
    timeout: float = Field(default=DEFAULT_TIMEOUT_SECONDS, gt=0, le=MOST_TIMEOUT_SECONDS)
    workdir: str | None = None
    background: bool = False


class ConfinedArguments(TerminalArguments):
    """Arguments if there is a sandbox, outside which the model may ask to run a command."""

    unconfined: bool = False


@dataclass(slots=True)
class Shell:
    """Dependencies of the commands of one session, or of one sub-agent."""

    session: ShellSession
    background: BackgroundCommands
    editor: Editor
    secret_names: Collection[str]
    sandbox: SessionSandbox | None = None
    is_editor_unfit: bool = False
    """Whether the editor's terminals have failed to run a command; they are not used again."""


class TerminalUse(Use[TerminalArguments]):
    """One call of `terminal`."""

    def __init__(self, workshop: Workshop, shell: Shell, report: Report) -> None:
        super().__init__(ConfinedArguments if shell.sandbox else TerminalArguments, report)
        self._workshop = workshop
        self._shell = shell
        self._log = OutputLog(LOG_BYTES, LOG_BYTES)
        self._view: TerminalView | None = None
        self._show: TerminalShow | None = None
        self._standing: Standing = "free"

    def describe(self, so_far: SoFar) -> Description | None:
        """Return the first line of the command as the title, as far as it was received."""
        command = so_far.text("command").strip()
        if not command:
            return None
        title = code(headline(command))
        workdir = so_far.whole("workdir")
        try:
            path = self._workshop.path_of(workdir or ".")
        except FileError:
            return Description(title)
        return Description(title, (Location(str(path)),))

    async def run(self, arguments: TerminalArguments) -> Outcome:
        """Ask permission, run the command, return its output."""
        if "\0" in arguments.command:
            return Outcome(NUL, is_error=True)
        try:
            place = await self._workshop.place(arguments.workdir or ".")
            self._standing = await self._stand(arguments)
            refusal = await self._workshop.gate.pass_through(self._question(place, arguments))
            if refusal is not None:
                return Outcome(refusal.reason, is_error=True)
            await self.report.begin()
            # Security: runs in the resolved directory that was asked about. A link that is
            # replaced meanwhile cannot lead the command elsewhere.
            async with self._workshop.changing():
                outcome = await self._do(arguments, place.real)
            return replace(outcome, touched=await self._touched(arguments, place.real))
        except (FileError, ShellError) as error:
            return Outcome(error.reason, is_error=True)
        except EditorError as error:
            return Outcome(f"the editor did not run it: {error.reason}", is_error=True)

    def cut_short(self, reason: str) -> Outcome:
        """Return the output so far. Does not await: a cancelled turn cannot wait for the end."""
        if self._show is not None:
            self._show.end(None, None)
        output = for_model(self._log.text(), MOST_RESULT_CHARACTERS)
        text = f"{reason}\nIt had printed:\n{output}" if output.strip() else reason
        return Outcome(text, is_error=True, shown=self._shown(reason))

    def _question(self, place: Place, arguments: TerminalArguments) -> Question:
        command = arguments.command
        description = self.describe(SoFar({"command": command}, {}))
        return Question(
            call_id=self.report.call_id,
            effect=RunCommand(command, target_of(place), standing=self._standing),
            title=description.title if description else "Run a command",
            kind="execute",
            content=(Text(block(command, "sh")),),
            locations=(Location(str(place.path)),),
        )

    async def _stand(self, arguments: TerminalArguments) -> Standing:
        wish = isinstance(arguments, ConfinedArguments) and arguments.unconfined
        sandbox = self._shell.sandbox
        return "free" if sandbox is None else await sandbox.standing(is_unconfined=wish)

    async def _touched(self, arguments: TerminalArguments, cwd: Path) -> tuple[str, ...]:
        """Return the command's directory and every path that it names."""
        return await to_thread.run_sync(
            named_paths, arguments.command, cwd, self._workshop.home, abandon_on_cancel=True
        )

    async def _do(self, arguments: TerminalArguments, cwd: Path) -> Outcome:
        start = self._start if arguments.background else self._run
        return await start(arguments, cwd)

    async def _start(self, arguments: TerminalArguments, cwd: Path) -> Outcome:
        started = await self._shell.background.start(
            arguments.command, cwd, is_unconfined=self._standing == "unconfined"
        )
        return Outcome(
            f"started in the background; session_id {started.id} (see the process tool)",
            raw_output={"session_id": started.id},
        )

    async def _run(self, arguments: TerminalArguments, cwd: Path) -> Outcome:
        editor = self._shell.editor
        # An editor that can display our output gets that rather than an ACP terminal: a command
        # that runs in this process can be confined here and ended with all that it started.
        if editor.has_terminals and not editor.shows_output and not self._shell.is_editor_unfit:
            terminal = await self._open(arguments, cwd)
            outcome = await self._run_in_editor(terminal, arguments)
            if outcome is not None:
                return outcome
        if editor.shows_output:
            return await self._run_shown(arguments, cwd)
        show = TextShow(self.report, self._log)
        ended = await self._run_locally(arguments, cwd, show, TEXT_SECONDS)
        return self._outcome(ended, arguments)

    async def _run_shown(self, arguments: TerminalArguments, cwd: Path) -> Outcome:
        """Run the command in this process, and show its output in the editor as a terminal."""
        show = self._show = TerminalShow(self.report, f"term_{uuid4().hex}")
        await show.open(str(cwd))
        self._view = show.view
        # Repeats the title: some editors take the update that opens a terminal for a new call.
        title = code(headline(arguments.command))
        await self.report.tell(CallChanged(self.report.call_id, title=title))
        exit_ = Exit()
        try:
            ended = await self._run_locally(arguments, cwd, show, PIECES_SECONDS)
            exit_ = ended.exit
        finally:
            show.end(exit_.code, exit_.signal)
        return self._outcome(ended, arguments)

    async def _run_locally(
        self, arguments: TerminalArguments, cwd: Path, show: Showing, interval_seconds: float
    ) -> Ended:
        is_unconfined = self._standing == "unconfined"
        command = LocalCommand(
            self._shell.session, arguments.command, cwd, is_unconfined=is_unconfined
        )
        ended = Ended(Exit(), timed_out=False)

        async def receive(chunk: bytes) -> None:
            self._log.write(chunk)
            show.write(chunk)

        async def work() -> None:
            nonlocal ended
            ended = await command.run(receive, arguments.timeout)

        await show_while(show, interval_seconds, work)
        return ended

    async def _open(self, arguments: TerminalArguments, cwd: Path) -> EditorTerminal:
        """Start the command in one of the editor's terminals.

        Raises:
            EditorError: The editor refused, perhaps because the user did, so the command must not
                be run in another way. Or it did not answer and may have started the command, which
                must not be started twice.
        """
        confined = ConfinedElsewhere()
        if self._shell.sandbox is not None and self._standing == "confined":
            confined = await self._shell.sandbox.launch_elsewhere()
        argv = argv_elsewhere(arguments.command, self._shell.secret_names, confined)
        try:
            return await self._shell.editor.open_terminal(
                Launch(argv, cwd, UNATTENDED, 2 * LOG_BYTES)
            )
        except TimeoutError:
            self._shell.is_editor_unfit = True
            raise EditorError(SILENT) from None

    async def _run_in_editor(
        self, terminal: EditorTerminal, arguments: TerminalArguments
    ) -> Outcome | None:
        """Follow the command in the editor's terminal, which is released in any case.

        Returns None if the command was not run because the sandbox launcher does not exist where
        the editor runs commands; it is then run in this process.
        """
        self._view = TerminalView(terminal.id)
        try:
            await self.report.show((self._view,))
            ended = await self._follow(terminal, arguments.timeout)
        except EditorError as error:
            await self._hear_last_words(terminal)
            return self.cut_short(f"the editor's terminal failed: {error.reason}")
        except anyio.get_cancelled_exc_class():
            # The output must be fetched before the release: it is gone after that.
            await self._hear_last_words(terminal)
            raise
        finally:
            await terminal.release()
        if self._standing == "confined" and was_not_confined(ended.exit.code, self._log.text()):
            self._shell.is_editor_unfit = True
            self._view, self._log = None, OutputLog(LOG_BYTES, LOG_BYTES)
            return None
        return self._outcome(ended, arguments)

    async def _follow(self, terminal: EditorTerminal, timeout_seconds: float) -> Ended:
        exit_ = Exit()
        with anyio.move_on_after(timeout_seconds) as limit:
            exit_ = await terminal.wait()
        if limit.cancelled_caught:
            await _tried(terminal.kill)
        screen = await _screen(terminal)  # after the kill, so it has all that was printed
        self._keep(screen)
        return Ended(exit_ if exit_ != Exit() else screen.exit or exit_, limit.cancelled_caught)

    async def _hear_last_words(self, terminal: EditorTerminal) -> None:
        """Kill the command and keep its output, also while the turn is being cancelled."""
        # Shielded: the cancellation would end the requests to the editor at once. Both are sent
        # at the same time, for there is no time to wait for one after the other.
        with anyio.move_on_after(LAST_WORDS_SECONDS, shield=True):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_tried, terminal.kill)
                self._keep(await _screen(terminal))

    def _keep(self, screen: Screenful) -> None:
        lost = "[the beginning is lost]\n" if screen.is_truncated else ""
        self._log.write(f"{lost}{screen.text}".encode(errors="replace"))

    def _outcome(self, ended: Ended, arguments: TerminalArguments) -> Outcome:
        output = for_model(self._log.text(), MOST_RESULT_CHARACTERS)
        status, denial = _status(ended, arguments), self._denial(ended)
        raw: dict[str, JsonValue] = {
            "exit_code": ended.exit.code,
            "signal": ended.exit.signal,
            "timed_out": ended.timed_out,
        }
        parts = (output.rstrip("\n"), status, denial)
        text = "\n".join(filter(None, parts)) or "(no output)"
        has_failed = ended.timed_out or bool(ended.exit.signal or ended.exit.code)
        return Outcome(text, has_failed, shown=self._shown(status, denial), raw_output=raw)

    def _denial(self, ended: Ended) -> str:
        """Return a hint that the sandbox may have denied something, for the model and the user."""
        sandbox = self._shell.sandbox
        if sandbox is None or self._standing != "confined":
            return ""
        has_failed = ended.timed_out or ended.exit != Exit(code=0)
        has_network = sandbox.territory.rules.has_network
        return denial_in(self._log.text(), has_failed=has_failed, has_network=has_network)

    def _shown(self, status: str, denial: str = "") -> tuple[CallContent, ...]:
        told = (Text(denial),) if denial else ()
        if self._view is not None:
            return (self._view, *told)
        output = self._log.text()
        block = (Text(fenced(output, TEXT_CHARACTERS)),) if output.strip() else ()
        return (*block, Text(status), *told) if status or not block else (*block, *told)


async def _tried(act: Callable[[], Awaitable[None]]) -> None:
    """Run `act`; ignore an error of the editor, and its silence after a timeout."""
    with anyio.move_on_after(ANSWER_SECONDS), suppress(EditorError):
        await act()


async def _screen(terminal: EditorTerminal) -> Screenful:
    """Return the output of an editor's terminal, or the reason why it is unknown."""
    reason = f"no answer within {ANSWER_SECONDS:g} s"
    with anyio.move_on_after(ANSWER_SECONDS):
        try:
            return await terminal.output()
        except EditorError as error:
            reason = error.reason
    return Screenful(f"[the editor did not tell what was printed: {reason}]")


def headline(command: str) -> str:
    """Return the first line of a command, cut if it is long."""
    first, *others = command.strip().splitlines() or [""]
    is_cut = bool(others) or len(first) > MOST_TITLE_CHARACTERS
    return f"{first[:MOST_TITLE_CHARACTERS]}{' …' if is_cut else ''}"


def code(text: str) -> str:
    """Return a line as Markdown inline code, fenced by more backticks than it contains."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence, pad = "`" * (longest + 1), " " if longest else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _status(ended: Ended, arguments: TerminalArguments) -> str:
    if ended.timed_out:
        return (
            f"[stopped after {arguments.timeout:g} s, with all that it started; give more timeout, "
            "or run it with background=true]"
        )
    if ended.exit.signal is not None:
        return f"[ended by {ended.exit.signal}]"
    if ended.exit.code is None:
        return "[ended; the editor did not say how]"
    return f"[exit code {ended.exit.code}]" if ended.exit.code else ""


def terminal_tool(workshop: Workshop, shell: Shell) -> Tool:
    """Return the tool for a session."""
    if shell.sandbox is None:
        spec = spec_of("terminal", DESCRIPTION, TerminalArguments)
    else:
        network = "" if shell.sandbox.territory.rules.has_network else ", and have no network"
        description = CONFINED_DESCRIPTION.format(plain=DESCRIPTION, network=network)
        spec = spec_of("terminal", description, ConfinedArguments)
    return Tool(spec, "execute", "Run a command", partial(TerminalUse, workshop, shell))

"""The command files of one session: which may be used, how they are followed, and their prompts."""

from collections.abc import Callable, Sequence
from functools import partial

from anyio import to_thread

from acp_server.command_files.discovery import (
    CommandFile,
    find_command_files,
    names_of,
)
from acp_server.command_files.template import CommandOutput, fill_template
from acp_server.project_files.followed_places import FollowedPlaces
from acp_server.project_files.places import FilePlace, MarkdownText, read_markdown
from acp_server.project_files.screening import IsTextTrusted, find_block
from acp_server.session.commands.command import PreparedPrompt, PromptCommand, PromptCommandError
from acp_server.session.prompting.file_watch import FileWatch
from acp_server.session.user_calls import run_user_call
from acp_server.turn.ports import Toolbox, TurnSink

TERMINAL = "terminal"
GONE = "`/{name}` is gone: {path} cannot be read any more."
BLOCKED = (
    "{notice} If you have read the file and want to use it, run `acp-server context trust {path}`."
)
NO_TERMINAL = "`/{name}` needs the output of commands, and this session has no `terminal` tool."
HEADING = "Commands of files:"
WAITING = " (unused: the workspace is not trusted)"


class SessionCommandFiles:
    """The command files of one session."""

    def __init__(
        self,
        places: Sequence[FilePlace],
        toolbox: Toolbox,
        is_trusted: Callable[[], bool],
        is_text_trusted: IsTextTrusted,
        watch: FileWatch | None,
    ) -> None:
        """Prepare; nothing is read yet.

        `is_trusted` returns whether the workspace is trusted, `is_text_trusted` whether the user
        allows a blocked text, by path and SHA-256. Both may block.
        """
        self._places = places
        self._toolbox = toolbox
        self._is_trusted = is_trusted
        self._is_text_trusted = is_text_trusted
        self._followed = FollowedPlaces(places, watch, self.refresh)
        self._is_taken: Callable[[str], bool] = _nothing_is_taken
        self._on_change: Callable[[], None] = _ignore_change
        self._usable: Sequence[CommandFile] = ()
        self._waiting: Sequence[CommandFile] = ()
        self._is_closed = False

    async def load(self, is_taken: Callable[[str], bool], on_change: Callable[[], None]) -> None:
        """Find the commands, and follow their changes from now on."""
        self._is_taken = is_taken
        await self._followed.follow()
        await self.refresh()
        self._on_change = on_change

    async def refresh(self) -> None:
        """Find the commands again."""

        def find() -> tuple[Sequence[CommandFile], bool]:
            return find_command_files(self._places, self._is_taken), self._is_trusted()

        before = self._usable
        found, is_trusted = await to_thread.run_sync(find)
        self._usable = [each for each in found if is_trusted or each.place.is_users]
        self._waiting = [each for each in found if each not in self._usable]
        if self._usable != before and not self._is_closed:
            self._on_change()

    def commands(self) -> Sequence[PromptCommand]:
        """Return the commands that may be used."""
        return [
            PromptCommand(each.name, each.description, partial(self._prepare, each), each.hint)
            for each in self._usable
        ]

    def untrusted_names(self) -> Sequence[str]:
        """Return the names of the commands that wait for trust."""
        return names_of(self._waiting)

    def describe(self) -> str:
        """Return a Markdown list of the commands and their files."""
        lines = [f"- `/{each.name}`: {each.path}" for each in self._usable]
        lines += [f"- `/{each.name}`: {each.path}{WAITING}" for each in self._waiting]
        return "\n".join([HEADING, "", *lines]) if lines else ""

    def close(self) -> None:
        """Stop following changes."""
        self._is_closed = True
        self._on_change = _ignore_change
        self._followed.close()

    async def _prepare(
        self, command: CommandFile, arguments: str, sink: TurnSink
    ) -> PreparedPrompt:
        """Return the prompt of a command, from the file as it is now.

        Raises:
            PromptCommandError: the file is gone or blocked, or has no tool to run its commands.
        """
        text = await to_thread.run_sync(self._read, command)
        pieces = fill_template(text.body, arguments)
        has_terminal = any(spec.name == TERMINAL for spec in self._toolbox.specs)
        if not has_terminal and any(isinstance(each, CommandOutput) for each in pieces):
            raise PromptCommandError(NO_TERMINAL.format(name=command.name))
        filled = [
            each
            if isinstance(each, str)
            else await run_user_call(self._toolbox, sink, TERMINAL, {"command": each.command})
            for each in pieces
        ]
        # Of the text without the output of commands, which is data and must not name files.
        references = "".join(each for each in pieces if isinstance(each, str))
        return PreparedPrompt("".join(filled), command.model, references)

    def _read(self, command: CommandFile) -> MarkdownText:
        """Return the text of a command that may be shown to the model. Blocks.

        Raises:
            PromptCommandError: it may not.
        """
        text = read_markdown(command.path, command.place)
        if text is None:
            raise PromptCommandError(GONE.format(name=command.name, path=command.path))
        notice = find_block(command.path, text, self._is_text_trusted)
        if notice is not None:
            raise PromptCommandError(BLOCKED.format(notice=notice, path=command.path))
        return text


def _nothing_is_taken(name: str) -> bool:
    del name
    return False


def _ignore_change() -> None: ...

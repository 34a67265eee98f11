"""The editor's files and terminals, as the tools of one session use them."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from acp_server.handlers.link import Link
from acp_server.protocol.client import ClientError
from acp_server.protocol.files import ReadTextFileRequest, WriteTextFileRequest
from acp_server.protocol.sessions import EnvVariable
from acp_server.protocol.terminals import (
    CreateTerminalRequest,
    KillTerminalRequest,
    ReleaseTerminalRequest,
    TerminalExitStatus,
    TerminalOutputRequest,
    WaitForTerminalExitRequest,
)
from acp_server.session.editor import EditorError, EditorTerminal, Exit, Launch, Screenful


class EditorWorkspace:
    """One session's view of its editor. What it can do is what the client has said last."""

    def __init__(self, link: Link, session_id: str) -> None:
        self._link = link
        self._session_id = session_id

    @property
    def can_read(self) -> bool:
        """Whether `fs/read_text_file` may be called."""
        return self._link.capabilities.fs.read_text_file

    @property
    def can_write(self) -> bool:
        """Whether `fs/write_text_file` may be called."""
        return self._link.capabilities.fs.write_text_file

    @property
    def has_terminals(self) -> bool:
        """Whether `terminal/*` may be called."""
        return self._link.capabilities.terminal

    @property
    def shows_output(self) -> bool:
        """Whether output under `_meta` is shown as a live terminal."""
        return self._link.shows_terminal_output

    async def read_text(self, path: Path) -> str:
        """Return the text of a file, unsaved changes included."""
        request = ReadTextFileRequest(session_id=self._session_id, path=str(path))
        with _translated():
            return (await self._link.client.read_text_file(request)).content

    async def write_text(self, path: Path, text: str) -> None:
        """Make this the text of a file."""
        request = WriteTextFileRequest(session_id=self._session_id, path=str(path), content=text)
        with _translated():
            await self._link.client.write_text_file(request)

    async def open_terminal(self, launch: Launch) -> EditorTerminal:
        """Start a command in a terminal of the editor's."""
        command, *args = launch.argv
        request = CreateTerminalRequest(
            session_id=self._session_id,
            command=command,
            args=tuple(args),
            env=tuple(EnvVariable(name=n, value=v) for n, v in launch.environment.items()),
            cwd=str(launch.cwd),
            output_byte_limit=launch.keep_bytes,
        )
        with _translated():
            response = await self._link.client.create_terminal(request)
        return _Terminal(self._link, self._session_id, response.terminal_id)


class _Terminal:
    """A terminal of the editor's."""

    def __init__(self, link: Link, session_id: str, terminal_id: str) -> None:
        self._client = link.client
        self._session_id = session_id
        self._id = terminal_id

    @property
    def id(self) -> str:
        """What the editor calls it."""
        return self._id

    async def wait(self) -> Exit:
        """Wait until the command has ended."""
        request = WaitForTerminalExitRequest(session_id=self._session_id, terminal_id=self._id)
        with _translated():
            return _exit(await self._client.wait_for_terminal_exit(request))

    async def output(self) -> Screenful:
        """Return what it has printed until now."""
        request = TerminalOutputRequest(session_id=self._session_id, terminal_id=self._id)
        with _translated():
            response = await self._client.terminal_output(request)
        status = response.exit_status
        return Screenful(response.output, response.truncated, status and _exit(status))

    async def kill(self) -> None:
        """End the command."""
        request = KillTerminalRequest(session_id=self._session_id, terminal_id=self._id)
        with _translated():
            await self._client.kill_terminal(request)

    async def release(self) -> None:
        """Give the terminal back."""
        request = ReleaseTerminalRequest(session_id=self._session_id, terminal_id=self._id)
        with _translated():
            await self._client.release_terminal(request)


def _exit(status: TerminalExitStatus) -> Exit:
    return Exit(status.exit_code, status.signal)


@contextmanager
def _translated() -> Generator[None]:
    try:
        yield
    except ClientError as error:
        raise EditorError(str(error)) from error

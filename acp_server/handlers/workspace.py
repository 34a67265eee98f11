"""The editor's files and terminals, as the tools of one session use them.

Requests that open or end a terminal are uncancellable: the editor acts on them whether or not the
caller still waits, so they are never cancelled, and a terminal that opens too late is released.
"""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, TypeVar

import anyio
from anyio import lowlevel

from acp_server.handlers.client_connection import ClientConnection
from acp_server.protocol.client import Client, ClientError, InvalidAnswerError
from acp_server.protocol.extensions import (
    SYMBOLS_METHOD,
    SymbolPlace,
    SymbolsRequest,
    SymbolsResponse,
    TextPlace,
)
from acp_server.protocol.files import (
    ReadTextFileRequest,
    ReadTextFileResponse,
    WriteTextFileRequest,
    WriteTextFileResponse,
)
from acp_server.protocol.model import WireModel
from acp_server.protocol.sessions import EnvVariable
from acp_server.protocol.terminals import (
    CreateTerminalRequest,
    CreateTerminalResponse,
    KillTerminalRequest,
    KillTerminalResponse,
    ReleaseTerminalRequest,
    ReleaseTerminalResponse,
    TerminalExitStatus,
    TerminalOutputRequest,
    TerminalOutputResponse,
    WaitForTerminalExitRequest,
    WaitForTerminalExitResponse,
)
from acp_server.session.ports.editor import (
    EditorAnswerError,
    EditorError,
    EditorSymbol,
    EditorSymbols,
    EditorTerminal,
    EditorTextPlace,
    SymbolQuery,
    TerminalCommand,
    TerminalExit,
    TerminalOutput,
)

OPEN_SECONDS = 10.0
"""Time an editor may take to open a terminal."""

R = TypeVar("R", bound=WireModel)


class EditorWorkspace:
    """One session's view of its editor, limited to the client's latest capabilities."""

    def __init__(self, connection: ClientConnection, session_id: str) -> None:
        self._connection = connection
        self._client = connection.client
        self._session_id = session_id

    @property
    def can_read(self) -> bool:
        """Whether `fs/read_text_file` may be called."""
        return self._connection.reads_files

    @property
    def can_write(self) -> bool:
        """Whether `fs/write_text_file` may be called."""
        return self._connection.writes_files

    @property
    def has_terminals(self) -> bool:
        """Whether `terminal/*` may be called."""
        return self._connection.runs_commands

    @property
    def shows_output(self) -> bool:
        """Whether output under `_meta` is shown as a live terminal."""
        return self._connection.shows_terminal_output

    @property
    def has_symbols(self) -> bool:
        """Whether `_hermes/symbols` may be called."""
        return self._connection.answers_symbols

    async def find_symbols(self, query: SymbolQuery) -> EditorSymbols:
        """Return what the editor's language features know; places are on disk."""
        request = SymbolsRequest(
            session_id=self._session_id,
            action=query.action,
            path=None if query.path is None else str(query.path),
            name=query.name or None,
            new_name=query.new_name or None,
        )
        with _translate_errors():
            response = await self._client.request(SYMBOLS_METHOD, request, SymbolsResponse)
        return EditorSymbols(
            tuple(map(_to_editor_symbol, response.symbols)),
            tuple(map(_to_editor_place, response.places or response.edits)),
        )

    async def read_text(self, path: Path) -> str:
        """Return the text of a file, including unsaved changes."""
        request = ReadTextFileRequest(session_id=self._session_id, path=str(path))
        with _translate_errors():
            response = await self._client.request(
                "fs/read_text_file", request, ReadTextFileResponse
            )
        return response.content

    async def write_text(self, path: Path, text: str) -> None:
        """Replace the text of a file."""
        request = WriteTextFileRequest(session_id=self._session_id, path=str(path), content=text)
        with _translate_errors():
            await self._client.request("fs/write_text_file", request, WriteTextFileResponse)

    async def open_terminal(self, command_spec: TerminalCommand) -> EditorTerminal:
        """Start a command in an editor terminal.

        Raises:
            EditorAnswerError: its answer names no terminal.
            EditorError: the editor refused.
            TimeoutError: it did not answer; a terminal it still opens is released.
        """
        command, *args = command_spec.argv
        session_id = self._connection.children.owner_of(self._session_id, command_spec.call_id)
        request = CreateTerminalRequest(
            session_id=session_id,
            command=command,
            args=tuple(args),
            env=tuple(EnvVariable(name=n, value=v) for n, v in command_spec.environment.items()),
            cwd=str(command_spec.cwd),
            output_byte_limit=command_spec.output_limit_bytes,
        )
        uncancellable = _UncancellableRequest(
            self._connection, "terminal/create", request, CreateTerminalResponse
        )
        # A flag and not `except`: cancellation must release the terminal too.
        is_open = False
        try:
            with anyio.fail_after(OPEN_SECONDS):
                response = await uncancellable.result()
            is_open = True
        finally:
            if not is_open:
                self._connection.background.start_soon(
                    self._release_late, session_id, uncancellable
                )
        return _EditorTerminal(self._connection, session_id, response.terminal_id)

    async def _release_late(
        self, session_id: str, uncancellable: "_UncancellableRequest[CreateTerminalResponse]"
    ) -> None:
        """Kill and release a terminal the caller no longer waits for, if it ever opens."""
        try:
            response = await uncancellable.result()
            terminal = _EditorTerminal(self._connection, session_id, response.terminal_id)
        except EditorError:
            return
        terminal.start_kill()
        await terminal.release()


class _UncancellableRequest(Generic[R]):
    """A request to the editor that is not cancelled together with its caller."""

    def __init__(
        self, connection: ClientConnection, method: str, params: WireModel, result_type: type[R]
    ) -> None:
        self._is_done = anyio.Event()
        self._response: R | None = None
        self._error: EditorError | None = None
        # In the connection's task group, which outlives the caller.
        connection.background.start_soon(self._run, connection.client, method, params, result_type)

    async def result(self) -> R:
        """Wait for the response.

        Raises:
            EditorError: it was an error, or none can arrive any more.
        """
        await self._is_done.wait()
        if self._response is None:
            raise self._error or EditorError("the editor is gone")
        return self._response

    async def _run(
        self, client: Client, method: str, params: WireModel, result_type: type[R]
    ) -> None:
        try:
            self._response = await client.request(method, params, result_type)
        except InvalidAnswerError as error:
            self._error = EditorAnswerError(str(error))
        except ClientError as error:
            self._error = EditorError(str(error))
        finally:
            self._is_done.set()


class _EditorTerminal:
    """An editor terminal."""

    def __init__(self, connection: ClientConnection, session_id: str, terminal_id: str) -> None:
        self._connection = connection
        self._client = connection.client
        self._session_id = session_id
        self._id = terminal_id

    @property
    def id(self) -> str:
        """The id the editor gave it."""
        return self._id

    async def wait(self) -> TerminalExit:
        """Wait until the command has ended."""
        request = WaitForTerminalExitRequest(session_id=self._session_id, terminal_id=self._id)
        with _translate_errors():
            response = await self._client.request(
                "terminal/wait_for_exit", request, WaitForTerminalExitResponse
            )
        return _to_exit(response)

    async def output(self) -> TerminalOutput:
        """Return the output so far."""
        request = TerminalOutputRequest(session_id=self._session_id, terminal_id=self._id)
        with _translate_errors():
            response = await self._client.request(
                "terminal/output", request, TerminalOutputResponse
            )
        status = response.exit_status
        return TerminalOutput(response.output, response.truncated, status and _to_exit(status))

    async def kill(self) -> None:
        """Kill the command."""
        await self.start_kill().result()

    def start_kill(self) -> _UncancellableRequest[KillTerminalResponse]:
        """Start to kill the command, without waiting."""
        request = KillTerminalRequest(session_id=self._session_id, terminal_id=self._id)
        return _UncancellableRequest(
            self._connection, "terminal/kill", request, KillTerminalResponse
        )

    async def release(self) -> None:
        """Release the terminal, without waiting: the response changes nothing."""
        request = ReleaseTerminalRequest(session_id=self._session_id, terminal_id=self._id)
        _UncancellableRequest(
            self._connection, "terminal/release", request, ReleaseTerminalResponse
        )
        # Let the request's task run once, so that it is queued before anything the caller sends
        # next.
        await lowlevel.cancel_shielded_checkpoint()


def _to_editor_symbol(place: SymbolPlace) -> EditorSymbol:
    lines = place.line, place.end_line, place.name_line
    return EditorSymbol(place.name, place.kind, place.containers, Path(place.path), *lines)


def _to_editor_place(place: TextPlace) -> EditorTextPlace:
    range_ = place.line, place.column, place.end_line, place.end_column
    return EditorTextPlace(Path(place.path), *range_, place.new_text or "")


def _to_exit(status: TerminalExitStatus) -> TerminalExit:
    return TerminalExit(status.exit_code, status.signal)


@contextmanager
def _translate_errors() -> Generator[None]:
    try:
        yield
    except ClientError as error:
        raise EditorError(str(error)) from error

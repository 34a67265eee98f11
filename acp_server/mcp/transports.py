"""Transports (stdio, SSE, streamable HTTP) as the message streams that the SDK expects.

One of the three modules that know the SDK. Lines on stdout that are not messages are recorded as
output of the server and do not disturb the connection.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import anyio
import httpx2
import mcp_types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage

from acp_server.mcp.lenient_http import repair_stream
from acp_server.mcp.lenient_messages import parse_message
from acp_server.mcp.ports import ClientCallbacks
from acp_server.mcp.server_process import ProcessContext, ServerProcess
from acp_server.session.ports.mcp_configs import HttpServerConfig, StdioServerConfig

HTTP_TIMEOUT_SECONDS = 30.0
READ_TIMEOUT_SECONDS = 24 * 3_600.0
"""Read timeout of streams. Effectively none: `CallTimeouts` limits the calls."""
MAX_EVENT_BYTES = 64 * 1024 * 1024
"""The longest message over streamable HTTP, as over stdio; the SDK's own limit is 1 MiB."""
MAX_UNSENT = 256

Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]
NoteStatus = Callable[[int], None]


@asynccontextmanager
async def process_streams(
    server: StdioServerConfig, host: ClientCallbacks, context: ProcessContext
) -> AsyncGenerator[tuple[Incoming, Outgoing]]:
    """Start a server and yield its message streams; end the server on exit.

    Raises:
        ServerError: The server cannot be started.
    """
    process = await ServerProcess.start(server, host.roots[0], context)
    incoming_sender, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, outgoing_receiver = anyio.create_memory_object_stream[SessionMessage](MAX_UNSENT)
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_read_messages, process, incoming_sender, host)
            tasks.start_soon(_write_messages, process, outgoing_receiver, incoming_sender)
            tasks.start_soon(process.read_errors, _record_output(host))
            try:
                yield incoming, outgoing
            finally:
                tasks.cancel_scope.cancel()
    finally:
        await process.end()
        for stream in (incoming, outgoing, incoming_sender, outgoing_receiver):
            stream.close()


async def _read_messages(
    process: ServerProcess,
    incoming_sender: MemoryObjectSendStream[SessionMessage | Exception],
    host: ClientCallbacks,
) -> None:
    record_line = _record_output(host)

    async def receive(line: bytes) -> None:
        try:
            message = _parse(line)
        except ValueError:
            await record_line(line)
        else:
            await incoming_sender.send(SessionMessage(message))

    async with incoming_sender:
        try:
            await process.read_output(receive)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            return  # the session has closed its end


def _parse(line: bytes) -> mcp_types.JSONRPCMessage:
    """Parse a message.

    Raises:
        ValueError: It is none.
    """
    adapter = mcp_types.jsonrpc_message_adapter
    try:
        return adapter.validate_json(line, by_name=False)
    except ValueError:
        return adapter.validate_python(parse_message(line), by_name=False)


async def _write_messages(
    process: ServerProcess,
    outgoing_receiver: MemoryObjectReceiveStream[SessionMessage],
    incoming_sender: MemoryObjectSendStream[SessionMessage | Exception],
) -> None:
    async with outgoing_receiver:
        async for each in outgoing_receiver:
            text = each.message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                await process.write(f"{text}\n".encode())
            except OSError:  # the server has closed stdin, so no answer can come: end the session
                incoming_sender.close()
                return


def _record_output(host: ClientCallbacks) -> Callable[[bytes], Awaitable[None]]:
    async def record_line(line: bytes) -> None:
        host.on_output(line.decode(errors="replace"))

    return record_line


@asynccontextmanager
async def remote_streams(
    server: HttpServerConfig, note_status: NoteStatus, auth: httpx2.Auth | None = None
) -> AsyncGenerator[tuple[object, object]]:
    """Connect to a server over HTTP and yield its message streams.

    `note_status` receives the status of each response; `auth` adds tokens to the requests.

    Raises:
        httpx2.HTTPError: The server cannot be reached; usually inside an exception group.
    """

    async def receive(response: httpx2.Response) -> None:
        note_status(response.status_code)
        repair_stream(response)

    def client(
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        hooks = {"response": [receive]}
        return httpx2.AsyncClient(headers=headers, timeout=timeout, auth=auth, event_hooks=hooks)

    # Compressed responses could not be repaired as they arrive.
    headers = {"Accept-Encoding": "identity", **server.headers}
    if server.transport == "sse":
        async with sse_client(
            server.url,
            headers,
            HTTP_TIMEOUT_SECONDS,
            READ_TIMEOUT_SECONDS,
            httpx_client_factory=client,
            auth=auth,
        ) as (incoming, outgoing):
            yield incoming, outgoing
    else:
        timeout = httpx2.Timeout(HTTP_TIMEOUT_SECONDS, read=READ_TIMEOUT_SECONDS)
        async with (
            client(headers, timeout, auth) as shared,
            streamable_http_client(
                server.url, http_client=shared, max_sse_event_size=MAX_EVENT_BYTES
            ) as (incoming, outgoing),
        ):
            yield incoming, outgoing

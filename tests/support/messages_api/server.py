"""HTTP server on loopback, in the test's event loop or in a thread."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Protocol, cast

import anyio
from anyio.abc import Listener, SocketAttribute, SocketStream, TaskGroup
from anyio.from_thread import BlockingPortal, start_blocking_portal

from tests.support.messages_api.connection import HttpConnection
from tests.support.messages_api.endpoint import MessagesServerConfig
from tests.support.messages_api.records import HttpRequest, RecordedRequest, SendState
from tests.support.messages_api.response_steps import ResponsePlan
from tests.support.messages_api.script import Responder, Script, ScriptedTurn
from tests.support.messages_api.service import MessagesService
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

HOST = "127.0.0.1"
DEFAULT_ENDPOINT = MessagesServerConfig()


class _ListeningSocket:
    """Listening socket and its open connections."""

    def __init__(self, listener: Listener[SocketStream]) -> None:
        self._listener = listener
        self._scope = anyio.CancelScope()
        self._closed = anyio.Event()

    @property
    def port(self) -> int:
        """Port of the socket."""
        return int(self._listener.extra(SocketAttribute.local_port))  # noqa: S610  anyio's, not Django's

    async def serve(self, handle: Callable[[SocketStream], Awaitable[None]]) -> None:
        """Accept connections until `close` is called."""
        with self._scope:
            async with self._listener:
                await self._listener.serve(handle)
        self._closed.set()

    async def close(self) -> None:
        """Stop listening and drop all connections."""
        self._scope.cancel()
        await self._closed.wait()


class ScriptPlayerPort(Protocol):
    """Player of a script; the type of its functions' argument depends on the API form."""

    @property
    def remaining_turns(self) -> int: ...

    def add(self, *turns: ScriptedTurn | Responder) -> None: ...


class LimitedEndpoint(Protocol):
    """The part of an endpoint configuration that the HTTP layer needs."""

    @property
    def body_limit_bytes(self) -> int: ...


class ApiService(Protocol):
    """API service without HTTP."""

    @property
    def form(self) -> str: ...

    @property
    def model_path(self) -> str: ...

    @property
    def endpoint(self) -> LimitedEndpoint: ...

    @property
    def player(self) -> ScriptPlayerPort: ...

    @property
    def requests(self) -> list[RecordedRequest]: ...

    def respond(self, request: HttpRequest) -> tuple[ResponsePlan, SendState]: ...

    def advance_time(self, seconds: float) -> None: ...


class FakeApiServer:
    """Fake API server in the event loop, created by `serve_api`."""

    def __init__(self, service: ApiService, tasks: TaskGroup) -> None:
        self._service = service
        self._tasks = tasks
        self._socket: _ListeningSocket | None = None
        self._port = 0
        self._changed = anyio.Event()

    @property
    def form(self) -> str:
        """API form: `messages`, `chat` or `responses`."""
        return self._service.form

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return f"http://{HOST}:{self._port}{'' if self.form == 'messages' else '/v1'}"

    @property
    def requests(self) -> tuple[RecordedRequest, ...]:
        """All requests, in the order in which they were answered."""
        return tuple(self._service.requests)

    @property
    def model_requests(self) -> tuple[RecordedRequest, ...]:
        """The requests to the model, without token counts and model lists."""
        path = self._service.model_path
        return tuple(each for each in self.requests if each.path == path)

    @property
    def remaining_turns(self) -> int:
        """Number of turns that no request has played yet."""
        return self._service.player.remaining_turns

    def add(self, *turns: ScriptedTurn | Responder) -> None:
        """Append turns to the script."""
        self._service.player.add(*turns)

    def advance_time(self, seconds: float) -> None:
        """Advance the clock of the prompt cache."""
        self._service.advance_time(seconds)

    async def wait_for_requests(self, count: int) -> None:
        """Wait until at least `count` requests have been received."""
        await self._wait_until(lambda: len(self._service.requests) >= count)

    async def wait_for_model_requests(self, count: int) -> None:
        """Wait until at least `count` requests to the model have been received."""
        await self._wait_until(lambda: len(self.model_requests) >= count)

    async def wait_for_responses(self, count: int) -> None:
        """Wait until at least `count` responses were sent, aborted or left by the client."""
        await self._wait_until(lambda: self._ended_count >= count)

    @property
    def _ended_count(self) -> int:
        return sum(each.send_result is not None for each in self._service.requests)

    async def start_listening(self) -> None:
        """Start listening, on the previous port if there was one."""
        door = _ListeningSocket(
            await anyio.create_tcp_listener(local_host=HOST, local_port=self._port)
        )
        self._port, self._socket = door.port, door
        self._tasks.start_soon(door.serve, self._serve_connection)

    async def stop_listening(self) -> None:
        """Drop all connections and refuse new ones until `start_listening`."""
        if self._socket is not None:
            await self._socket.close()
            self._socket = None

    async def _serve_connection(self, stream: SocketStream) -> None:
        limit = self._service.endpoint.body_limit_bytes
        await HttpConnection(stream, self._respond, limit).serve()

    def _respond(self, request: HttpRequest) -> tuple[ResponsePlan, SendState]:
        answer, sending = self._service.respond(request)
        sending.on_end = self._notify_waiters
        self._notify_waiters()
        return answer, sending

    def _notify_waiters(self) -> None:
        # replace the event before setting it, so that a woken waiter waits for the next change
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    async def _wait_until(self, is_so: Callable[[], bool]) -> None:
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            while not is_so():
                await self._changed.wait()


@asynccontextmanager
async def messages_api(
    script: Script = (), endpoint: MessagesServerConfig = DEFAULT_ENDPOINT
) -> AsyncGenerator[FakeApiServer]:
    """Serve the Messages API in this event loop until the context exits."""
    async with serve_api(MessagesService(script, endpoint)) as api:
        yield api


@asynccontextmanager
async def serve_api(service: ApiService) -> AsyncGenerator[FakeApiServer]:
    """Serve an API service in this event loop until the context exits."""
    try:
        async with anyio.create_task_group() as tasks:
            api = FakeApiServer(service, tasks)
            await api.start_listening()
            yield api
            tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:  # a failed assertion reads better by itself
        raise _unwrap_single(group) from None


def _unwrap_single(error: BaseException) -> BaseException:
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast("BaseExceptionGroup[BaseException]", error)
    first, *others = group.exceptions
    return group if others else _unwrap_single(first)


class FakeApiServerInThread:
    """Fake API server in a thread, created by `serve_api_in_thread`. Methods may block."""

    def __init__(self, api: FakeApiServer, portal: BlockingPortal) -> None:
        self._api = api
        self._portal = portal

    @property
    def form(self) -> str:
        """API form: `messages`, `chat` or `responses`."""
        return self._api.form

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return self._api.url

    @property
    def requests(self) -> tuple[RecordedRequest, ...]:
        """All requests, in the order in which they were answered."""
        return self._api.requests

    @property
    def model_requests(self) -> tuple[RecordedRequest, ...]:
        """The requests to the model, without token counts and model lists."""
        return self._api.model_requests

    @property
    def remaining_turns(self) -> int:
        """Number of turns that no request has played yet."""
        return self._api.remaining_turns

    def add(self, *turns: ScriptedTurn | Responder) -> None:
        """Append turns to the script."""
        self._portal.call(lambda: self._api.add(*turns))

    def advance_time(self, seconds: float) -> None:
        """Advance the clock of the prompt cache."""
        self._portal.call(self._api.advance_time, seconds)

    def wait_for_requests(self, count: int) -> None:
        """Wait until at least `count` requests have been received."""
        self._portal.call(self._api.wait_for_requests, count)

    def wait_for_responses(self, count: int) -> None:
        """Wait until at least `count` responses were sent, aborted or left by the client."""
        self._portal.call(self._api.wait_for_responses, count)

    def start_listening(self) -> None:
        """Start listening again on the previous port."""
        self._portal.call(self._api.start_listening)

    def stop_listening(self) -> None:
        """Drop all connections and refuse new ones until `start_listening`."""
        self._portal.call(self._api.stop_listening)


@contextmanager
def messages_api_in_thread(
    script: Script = (), endpoint: MessagesServerConfig = DEFAULT_ENDPOINT
) -> Generator[FakeApiServerInThread]:
    """Serve the Messages API in a thread until the context exits, for other processes."""
    with serve_api_in_thread(MessagesService(script, endpoint)) as api:
        yield api


@contextmanager
def serve_api_in_thread(service: ApiService) -> Generator[FakeApiServerInThread]:
    """Serve an API service in a thread until the context exits."""
    with (
        start_blocking_portal("asyncio") as portal,
        portal.wrap_async_context_manager(serve_api(service)) as api,
    ):
        yield FakeApiServerInThread(api, portal)

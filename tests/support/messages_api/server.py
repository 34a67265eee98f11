"""HTTP server on loopback, in the test's event loop or in a thread."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Protocol, cast

import anyio
from anyio.abc import Listener, SocketAttribute, SocketStream, TaskGroup
from anyio.from_thread import BlockingPortal, start_blocking_portal

from tests.support.messages_api.connection import Connection
from tests.support.messages_api.endpoint import Endpoint
from tests.support.messages_api.records import HttpRequest, RecordedRequest, Sending
from tests.support.messages_api.response_steps import Answer
from tests.support.messages_api.script import Responder, Script, Turn
from tests.support.messages_api.service import Service
from tests.support.timeouts import PATIENCE_SECONDS

HOST = "127.0.0.1"
DEFAULT_ENDPOINT = Endpoint()


class _Door:
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


class PlayerLike(Protocol):
    """Player of a script; the type of its functions' argument depends on the API form."""

    @property
    def unplayed(self) -> int: ...

    def add(self, *turns: Turn | Responder) -> None: ...


class LimitedEndpoint(Protocol):
    """The part of an endpoint configuration that the HTTP layer needs."""

    @property
    def body_limit_bytes(self) -> int: ...


class Served(Protocol):
    """API service without HTTP."""

    @property
    def form(self) -> str: ...

    @property
    def ask_path(self) -> str: ...

    @property
    def endpoint(self) -> LimitedEndpoint: ...

    @property
    def player(self) -> PlayerLike: ...

    @property
    def requests(self) -> list[RecordedRequest]: ...

    def respond(self, request: HttpRequest) -> tuple[Answer, Sending]: ...

    def pass_time(self, seconds: float) -> None: ...


class MessagesApi:
    """Fake API server in the event loop, created by `serve_api`."""

    def __init__(self, service: Served, tasks: TaskGroup) -> None:
        self._service = service
        self._tasks = tasks
        self._door: _Door | None = None
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
    def asks(self) -> tuple[RecordedRequest, ...]:
        """The requests to the model, without token counts and model lists."""
        path = self._service.ask_path
        return tuple(each for each in self.requests if each.path == path)

    @property
    def unplayed(self) -> int:
        """Number of turns that no request has played yet."""
        return self._service.player.unplayed

    def add(self, *turns: Turn | Responder) -> None:
        """Append turns to the script."""
        self._service.player.add(*turns)

    def pass_time(self, seconds: float) -> None:
        """Advance the clock of the prompt cache."""
        self._service.pass_time(seconds)

    async def wait_for_requests(self, count: int) -> None:
        """Wait until at least `count` requests have been received."""
        await self._wait_until(lambda: len(self._service.requests) >= count)

    async def wait_for_endings(self, count: int) -> None:
        """Wait until at least `count` responses were sent, aborted or left by the client."""
        await self._wait_until(lambda: self._ended >= count)

    @property
    def _ended(self) -> int:
        return sum(each.ending is not None for each in self._service.requests)

    async def open_door(self) -> None:
        """Start listening, on the previous port if there was one."""
        door = _Door(await anyio.create_tcp_listener(local_host=HOST, local_port=self._port))
        self._port, self._door = door.port, door
        self._tasks.start_soon(door.serve, self._serve_connection)

    async def close_door(self) -> None:
        """Drop all connections and refuse new ones until `start_listening`."""
        if self._door is not None:
            await self._door.close()
            self._door = None

    async def _serve_connection(self, stream: SocketStream) -> None:
        limit = self._service.endpoint.body_limit_bytes
        await Connection(stream, self._respond, limit).serve()

    def _respond(self, request: HttpRequest) -> tuple[Answer, Sending]:
        answer, sending = self._service.respond(request)
        sending.when_ended = self._tell
        self._tell()
        return answer, sending

    def _tell(self) -> None:
        # replace the event before setting it, so that a woken waiter waits for the next change
        changed, self._changed = self._changed, anyio.Event()
        changed.set()

    async def _wait_until(self, is_so: Callable[[], bool]) -> None:
        with anyio.fail_after(PATIENCE_SECONDS):
            while not is_so():
                await self._changed.wait()


@asynccontextmanager
async def messages_api(
    script: Script = (), endpoint: Endpoint = DEFAULT_ENDPOINT
) -> AsyncGenerator[MessagesApi]:
    """Serve the Messages API in this event loop until the context exits."""
    async with serving(Service(script, endpoint)) as api:
        yield api


@asynccontextmanager
async def serving(service: Served) -> AsyncGenerator[MessagesApi]:
    """Serve an API service in this event loop until the context exits."""
    try:
        async with anyio.create_task_group() as tasks:
            api = MessagesApi(service, tasks)
            await api.open_door()
            yield api
            tasks.cancel_scope.cancel()
    except BaseExceptionGroup as group:  # a failed assertion reads better by itself
        raise _only_one(group) from None


def _only_one(error: BaseException) -> BaseException:
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast("BaseExceptionGroup[BaseException]", error)
    first, *others = group.exceptions
    return group if others else _only_one(first)


class MessagesApiInThread:
    """Fake API server in a thread, created by `serve_api_in_thread`. Methods may block."""

    def __init__(self, api: MessagesApi, portal: BlockingPortal) -> None:
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
    def asks(self) -> tuple[RecordedRequest, ...]:
        """The requests to the model, without token counts and model lists."""
        return self._api.asks

    @property
    def unplayed(self) -> int:
        """Number of turns that no request has played yet."""
        return self._api.unplayed

    def add(self, *turns: Turn | Responder) -> None:
        """Append turns to the script."""
        self._portal.call(lambda: self._api.add(*turns))

    def pass_time(self, seconds: float) -> None:
        """Advance the clock of the prompt cache."""
        self._portal.call(self._api.pass_time, seconds)

    def wait_for_requests(self, count: int) -> None:
        """Wait until at least `count` requests have been received."""
        self._portal.call(self._api.wait_for_requests, count)

    def wait_for_endings(self, count: int) -> None:
        """Wait until at least `count` responses were sent, aborted or left by the client."""
        self._portal.call(self._api.wait_for_endings, count)

    def open_door(self) -> None:
        """Start listening again on the previous port."""
        self._portal.call(self._api.open_door)

    def close_door(self) -> None:
        """Drop all connections and refuse new ones until `start_listening`."""
        self._portal.call(self._api.close_door)


@contextmanager
def messages_api_in_thread(
    script: Script = (), endpoint: Endpoint = DEFAULT_ENDPOINT
) -> Generator[MessagesApiInThread]:
    """Serve the Messages API in a thread until the context exits, for other processes."""
    with serving_in_thread(Service(script, endpoint)) as api:
        yield api


@contextmanager
def serving_in_thread(service: Served) -> Generator[MessagesApiInThread]:
    """Serve an API service in a thread until the context exits."""
    with (
        start_blocking_portal("asyncio") as portal,
        portal.wrap_async_context_manager(serving(service)) as api,
    ):
        yield MessagesApiInThread(api, portal)

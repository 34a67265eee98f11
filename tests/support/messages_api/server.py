"""The server on loopback, inside a test's event loop or in a thread of its own."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Protocol, cast

import anyio
from anyio.abc import Listener, SocketAttribute, SocketStream, TaskGroup
from anyio.from_thread import BlockingPortal, start_blocking_portal

from tests.support.messages_api.connection import Connection
from tests.support.messages_api.endpoint import Endpoint
from tests.support.messages_api.records import HttpRequest, RecordedRequest, Sending
from tests.support.messages_api.script import Responder, Script, Turn
from tests.support.messages_api.service import Service
from tests.support.messages_api.steps import Answer
from tests.support.patience import PATIENCE_SECONDS

HOST = "127.0.0.1"
DEFAULT_ENDPOINT = Endpoint()


class _Door:
    """A listening socket and the connections that came through it."""

    def __init__(self, listener: Listener[SocketStream]) -> None:
        self._listener = listener
        self._scope = anyio.CancelScope()
        self._closed = anyio.Event()

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return int(self._listener.extra(SocketAttribute.local_port))  # noqa: S610  anyio's, not Django's

    async def serve(self, handle: Callable[[SocketStream], Awaitable[None]]) -> None:
        """Hand out connections until the door is closed."""
        with self._scope:
            async with self._listener:
                await self._listener.serve(handle)
        self._closed.set()

    async def close(self) -> None:
        """Stop listening and drop every connection."""
        self._scope.cancel()
        await self._closed.wait()


class PlayerLike(Protocol):
    """Plays a script; which functions of requests it takes is its own affair."""

    @property
    def unplayed(self) -> int: ...

    def add(self, *turns: Turn | Responder) -> None: ...


class LimitedEndpoint(Protocol):
    """What the wire must know of an endpoint."""

    @property
    def body_limit_bytes(self) -> int: ...


class Served(Protocol):
    """An API without its wire."""

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
    """A server in the event loop; `messages_api` makes it."""

    def __init__(self, service: Served, tasks: TaskGroup) -> None:
        self._service = service
        self._tasks = tasks
        self._door: _Door | None = None
        self._port = 0
        self._changed = anyio.Event()

    @property
    def form(self) -> str:
        """What it speaks."""
        return self._service.form

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return f"http://{HOST}:{self._port}{'' if self.form == 'messages' else '/v1'}"

    @property
    def requests(self) -> tuple[RecordedRequest, ...]:
        """Every request, in the order in which they were answered."""
        return tuple(self._service.requests)

    @property
    def asks(self) -> tuple[RecordedRequest, ...]:
        """The requests for an answer alone."""
        path = self._service.ask_path
        return tuple(each for each in self.requests if each.path == path)

    @property
    def unplayed(self) -> int:
        """How many turns of the script were not asked for yet."""
        return self._service.player.unplayed

    def add(self, *turns: Turn | Responder) -> None:
        """Put turns behind those of the script."""
        self._service.player.add(*turns)

    def pass_time(self, seconds: float) -> None:
        """Let time pass for what is in the prompt cache."""
        self._service.pass_time(seconds)

    async def wait_for_requests(self, count: int) -> None:
        """Wait until so many requests were received."""
        await self._wait_until(lambda: len(self._service.requests) >= count)

    async def wait_for_endings(self, count: int) -> None:
        """Wait until the answers to so many requests were sent, aborted or left."""
        await self._wait_until(lambda: self._ended >= count)

    @property
    def _ended(self) -> int:
        return sum(each.ending is not None for each in self._service.requests)

    async def open_door(self) -> None:
        """Listen, on the same port as before if there was one."""
        door = _Door(await anyio.create_tcp_listener(local_host=HOST, local_port=self._port))
        self._port, self._door = door.port, door
        self._tasks.start_soon(door.serve, self._serve_connection)

    async def close_door(self) -> None:
        """Drop every connection and refuse new ones until the door is opened."""
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
    """Serve the API in this event loop until the context is left."""
    async with serving(Service(script, endpoint)) as api:
        yield api


@asynccontextmanager
async def serving(service: Served) -> AsyncGenerator[MessagesApi]:
    """Serve any API in this event loop until the context is left."""
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
    """A server in a thread; `messages_api_in_thread` makes it. Every method may block."""

    def __init__(self, api: MessagesApi, portal: BlockingPortal) -> None:
        self._api = api
        self._portal = portal

    @property
    def form(self) -> str:
        """What it speaks."""
        return self._api.form

    @property
    def url(self) -> str:
        """The base URL for a client."""
        return self._api.url

    @property
    def requests(self) -> tuple[RecordedRequest, ...]:
        """Every request, in the order in which they were answered."""
        return self._api.requests

    @property
    def asks(self) -> tuple[RecordedRequest, ...]:
        """The requests for an answer alone."""
        return self._api.asks

    @property
    def unplayed(self) -> int:
        """How many turns of the script were not asked for yet."""
        return self._api.unplayed

    def add(self, *turns: Turn | Responder) -> None:
        """Put turns behind those of the script."""
        self._portal.call(lambda: self._api.add(*turns))

    def pass_time(self, seconds: float) -> None:
        """Let time pass for what is in the prompt cache."""
        self._portal.call(self._api.pass_time, seconds)

    def wait_for_requests(self, count: int) -> None:
        """Wait until so many requests were received."""
        self._portal.call(self._api.wait_for_requests, count)

    def wait_for_endings(self, count: int) -> None:
        """Wait until the answers to so many requests were sent, aborted or left."""
        self._portal.call(self._api.wait_for_endings, count)

    def open_door(self) -> None:
        """Listen, on the same port as before."""
        self._portal.call(self._api.open_door)

    def close_door(self) -> None:
        """Drop every connection and refuse new ones until the door is opened."""
        self._portal.call(self._api.close_door)


@contextmanager
def messages_api_in_thread(
    script: Script = (), endpoint: Endpoint = DEFAULT_ENDPOINT
) -> Generator[MessagesApiInThread]:
    """Serve the API in a thread until the context is left, for a client in another process."""
    with serving_in_thread(Service(script, endpoint)) as api:
        yield api


@contextmanager
def serving_in_thread(service: Served) -> Generator[MessagesApiInThread]:
    """Serve any API in a thread until the context is left."""
    with (
        start_blocking_portal("asyncio") as portal,
        portal.wrap_async_context_manager(serving(service)) as api,
    ):
        yield MessagesApiInThread(api, portal)

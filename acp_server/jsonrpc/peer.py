"""One end of a JSON-RPC connection: ids, waiters, scopes, cancelling, and order.

The read loop awaits no handler. It does each message's synchronous part in arrival order (a
handler is a plain function that registers what it must and returns the job), then spawns the job
in a task and a cancel scope of its own, dispatched by jsonrpcserver. All that leaves goes through
the transport's one FIFO queue, so what a job sent before its answer is on the wire before it.
"""

import itertools
import logging
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import field

import anyio
from anyio import lowlevel
from anyio.abc import TaskGroup
from pydantic import JsonValue

from acp_server.frozen import frozen
from acp_server.jsonrpc.dispatching import Job, Reply, dispatch, failing, method_table
from acp_server.jsonrpc.errors import (
    INVALID_REQUEST,
    REQUEST_CANCELLED,
    ConnectionClosedError,
    InternalError,
    MalformedError,
    RemoteError,
    RpcError,
)
from acp_server.jsonrpc.forms import NotificationForm
from acp_server.jsonrpc.framing import Line, Oversized
from acp_server.jsonrpc.library import Methods
from acp_server.jsonrpc.messages import (
    ErrorObject,
    Notification,
    Payload,
    Request,
    RequestId,
    Response,
    error_line,
    notification_line,
    request_line,
    result_line,
)
from acp_server.jsonrpc.parsing import (
    is_leading_answer,
    is_request_id,
    leading_id,
    parse_message,
)
from acp_server.jsonrpc.transport import Transport

logger = logging.getLogger(__name__)

CANCEL_METHOD = "$/cancel_request"
FAREWELL_SECONDS = 0.8


class Call:
    """An inbound request on its way to its one answer."""

    def __init__(self, request: Request, answer: Callable[[bytes], None]) -> None:
        self.request = request
        self.scope = anyio.CancelScope()
        self.on_cancel: Callable[[], None] = self.scope.cancel
        """What `$/cancel_request` does; a handler may put a gentler way here."""
        self.is_answered = False
        self.is_done = anyio.Event()
        self.job: Job
        self._answer = answer

    def succeed(self, result: Payload) -> None:
        """Answer now, unless that has happened; the job may go on."""
        if not self.is_answered:
            line = result_line(self.request.id, result)
            self.is_answered = True
            self._answer(line)

    def fail(self, error: ErrorObject) -> None:
        """Answer with an error now, unless an answer was given."""
        if not self.is_answered:
            line = error_line(self.request.id, error)
            self.is_answered = True
            self._answer(line)


RequestHandler = Callable[[JsonValue, Call], Job]
NotificationHandler = Callable[[JsonValue], None]


@frozen
class Handlers:
    """What this end answers: by method name, run in arrival order, never awaited there."""

    requests: Mapping[str, RequestHandler] = field(default_factory=dict[str, RequestHandler])
    notifications: Mapping[str, NotificationHandler] = field(
        default_factory=dict[str, NotificationHandler]
    )


class _Waiter:
    """Our own request, until its answer comes or cannot come any more."""

    def __init__(self) -> None:
        self.done = anyio.Event()
        self.response: Response | None = None

    def resolve(self, response: Response | None) -> None:
        self.response = response
        self.done.set()


class Peer:
    """Speaks JSON-RPC both ways over a transport; `run` serves until the stream ends."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._handlers = Handlers()
        self._calls: dict[tuple[type, RequestId], Call] = {}
        self._unfinished: set[Call] = set()
        self._waiters: dict[RequestId, _Waiter] = {}
        self.has_ended = anyio.Event()
        """Set when the other side has ended its stream, however long the rest then takes."""
        self._ids = itertools.count(1)
        self._closed = False
        self._methods: Methods
        self._tasks: TaskGroup

    async def run(
        self, handlers: Handlers, farewell: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """Serve these handlers until the other side ends its stream.

        Then requests of ours fail with ConnectionClosedError. Requests of theirs are finished where
        the input was a file. Else `farewell` is called, to end what would take long, what then
        ends within FAREWELL_SECONDS is answered, and the rest is cancelled.
        """
        self._handlers = handlers
        self._methods = method_table(handlers.requests)
        async with anyio.create_task_group() as self._tasks:
            while batch := await self._transport.receive():
                for line in batch:
                    if self._transport.finishes_requests_at_end:  # no cancel can come too late
                        await self._transport.wait_for_room()
                    self._accept(line)
                await lowlevel.checkpoint()
            self._end_waiters()
            self.has_ended.set()
            if not self._transport.finishes_requests_at_end:
                await self._take_leave(farewell)
                self._tasks.cancel_scope.cancel()

    async def _take_leave(self, farewell: Callable[[], Awaitable[None]] | None) -> None:
        """See quick requests through: a script may have closed its end behind the last one."""
        if farewell is not None:
            with anyio.move_on_after(FAREWELL_SECONDS):
                await farewell()
                await self.wait_until_answered()

    async def request(self, method: str, params: Payload) -> JsonValue:
        """Ask the other side; cancelling the wait tells it so.

        Raises:
            RemoteError: it answered with an error.
            ConnectionClosedError: it will not answer any more.
        """
        if self._closed:
            raise ConnectionClosedError
        number, waiter = next(self._ids), _Waiter()
        self._waiters[number] = waiter
        self._transport.send(request_line(number, method, params))
        try:
            await waiter.done.wait()
        except anyio.get_cancelled_exc_class():
            self._transport.send(notification_line(CANCEL_METHOD, {"requestId": number}))
            raise
        finally:
            self._waiters.pop(number, None)
        if waiter.response is None:
            raise ConnectionClosedError
        if waiter.response.error is not None:
            raise RemoteError(waiter.response.error)
        return waiter.response.result

    async def notify(self, method: str, params: Payload, replaces: Hashable = None) -> None:
        """Tell the other side, waiting first while too much is unsent.

        With `replaces`, an unsent notification of the same key is dropped in favour of this one.
        """
        await self.wait_for_room()
        self.notify_now(method, params, replaces)

    def notify_now(self, method: str, params: Payload, replaces: Hashable = None) -> None:
        """Tell the other side at once, however much is unsent."""
        self._transport.send(notification_line(method, params), replaces)

    def notify_piece(self, form: NotificationForm, text: str) -> None:
        """Tell the other side a piece of a text at once; unread ones of the form may be joined."""
        self._transport.send(form.filled(text), seam=form.seam)

    @property
    def has_room(self) -> bool:
        """Whether what is unsent is below the transport's bound."""
        return self._transport.has_room

    async def wait_for_room(self) -> None:
        """Wait while too much is unsent."""
        if not self._transport.has_room:
            await self._transport.wait_for_room()

    async def wait_until_answered(self) -> None:
        """Wait until every request that was read so far is done with."""
        for call in tuple(self._unfinished):
            await call.is_done.wait()

    def _accept(self, line: Line) -> None:
        if isinstance(line, Oversized):
            self._refuse_oversized(line)
            return
        try:
            message = parse_message(line)
        except MalformedError as malformed:
            self._refuse(malformed)
            return
        match message:
            case Request():
                self._admit(message)
            case Notification():
                self._notice(message)
            case Response():
                self._resolve(message)
            case None:
                logger.debug("ignored an answer to nothing")

    def _refuse_oversized(self, line: Oversized) -> None:
        """Answer a call that was not read; an answer that was not read ends its request."""
        reason = f"the message is longer than {line.limit_bytes} bytes; send less at once"
        error = ErrorObject(INVALID_REQUEST, "Message too large", {"message": reason})
        identifier = leading_id(line.head)
        if is_leading_answer(line.head):
            self._resolve(Response(identifier, error=error))
        else:
            self._transport.send(error_line(identifier, error))

    def _refuse(self, malformed: MalformedError) -> None:
        """Answer a line that is no message; not, when nobody reads and nobody can match it."""
        logger.debug("malformed line: %s", malformed)
        if malformed.request_id is not None or self._transport.has_room:
            self._transport.send(error_line(malformed.request_id, malformed.error))

    def _admit(self, request: Request) -> None:
        call = Call(request, self._transport.send)
        key = (type(request.id), request.id)
        if request.id is not None and key in self._calls:
            reason = f"id {request.id!r} is in use by a request that is not answered yet"
            call.fail(ErrorObject(INVALID_REQUEST, "Invalid Request", {"message": reason}))
            return
        handler = self._handlers.requests.get(request.method)
        if handler is not None:
            call.job = _prepare(handler, call)
        self._calls[key] = call
        self._unfinished.add(call)
        self._tasks.start_soon(self._serve, call, key)

    async def _serve(self, call: Call, key: tuple[type, RequestId]) -> None:
        try:
            with call.scope:
                await _answer(call, await dispatch(self._methods, call))
        finally:
            if not self._tasks.cancel_scope.cancel_called:  # whoever cancelled it, it is answered
                call.fail(ErrorObject(REQUEST_CANCELLED, "Request cancelled"))
            call.is_done.set()
            self._unfinished.discard(call)
            if self._calls.get(key) is call:
                del self._calls[key]

    def _notice(self, notification: Notification) -> None:
        if notification.method == CANCEL_METHOD:
            self._cancel(notification.params)
            return
        handler = self._handlers.notifications.get(notification.method)
        if handler is None:
            logger.debug("ignored the notification %s", notification.method)
            return
        try:
            handler(notification.params)
        except RpcError as error:
            logger.warning("bad notification %s: %s", notification.method, error.data)
        except Exception:
            logger.exception("the notification %s failed", notification.method)

    def _cancel(self, params: JsonValue) -> None:
        identifier: object = params.get("requestId", False) if isinstance(params, dict) else False
        if is_request_id(identifier):
            call = self._calls.get((type(identifier), identifier))
            if call is not None:
                call.on_cancel()

    def _resolve(self, response: Response) -> None:
        waiter = self._waiters.pop(response.id, None)
        if waiter is None:
            logger.debug("ignored an answer to %r: nobody waits for it", response.id)
        else:
            waiter.resolve(response)

    def _end_waiters(self) -> None:
        self._closed = True
        for waiter in self._waiters.values():
            waiter.resolve(None)


def _prepare(handler: RequestHandler, call: Call) -> Job:
    """Run a handler's synchronous part; a failure there is the job's."""
    try:
        job = handler(call.request.params, call)
    except RpcError as error:
        return failing(error)
    except Exception as error:
        logger.exception("%s failed before it began", call.request.method)
        return failing(_unexpected(error))
    return _contained(job, call)


def _contained(job: Job, call: Call) -> Job:
    """Return the job with every unforeseen failure turned into one error answer."""

    async def run() -> Reply:
        try:
            return await job()
        except RpcError:
            raise
        except Exception as error:
            logger.exception("%s failed", call.request.method)
            raise _unexpected(error) from error

    return run


def _unexpected(error: Exception) -> RpcError:
    return InternalError(f"{type(error).__name__}: {error}")


async def _answer(call: Call, outcome: Reply | ErrorObject) -> None:
    """Answer, then do what follows; what cannot be written, or fails there, is ours to bear."""
    try:
        if isinstance(outcome, ErrorObject):
            call.fail(outcome)
            return
        call.succeed(outcome.result)
        if outcome.then is not None:
            await outcome.then()
    except Exception as error:
        logger.exception("%s failed at its answer", call.request.method)
        failure = _unexpected(error)
        call.fail(ErrorObject(failure.code, failure.message, failure.data))

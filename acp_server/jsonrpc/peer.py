"""One end of a JSON-RPC connection: request ids, pending requests, cancellation and ordering.

The read loop awaits no handler. For each request jsonrpcserver selects the handler and calls it, in
arrival order (a handler is a plain function that registers its state and returns a job); the job
then runs in its own task and cancel scope. All output goes through the transport's single FIFO
queue, so everything a job sends before its response precedes it on the wire.
"""

import itertools
import logging
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import field

import anyio
from anyio import lowlevel
from anyio.abc import TaskGroup
from pydantic import JsonValue

from acp_server.jsonrpc.dispatching import Job, build_method_table, dispatch
from acp_server.jsonrpc.errors import (
    INVALID_REQUEST,
    REQUEST_CANCELLED,
    ConnectionClosedError,
    InternalError,
    InvalidRequestError,
    MalformedError,
    RemoteError,
    RpcError,
)
from acp_server.jsonrpc.framing import Line, OversizedLine
from acp_server.jsonrpc.jsonrpcserver_parts import Methods
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
    find_leading_id,
    is_request_id,
    parse_message,
    starts_as_response,
)
from acp_server.jsonrpc.transport import Transport
from acp_server.startup.fast_dataclass import frozen_dataclass

logger = logging.getLogger(__name__)

CANCEL_METHOD = "$/cancel_request"
DRAIN_SECONDS = 0.8


def describe_error(_method: str, error: RpcError) -> ErrorObject:
    """Return the error member of the response to a request."""
    return ErrorObject(error.code, error.message, error.data)


DescribeError = Callable[[str, RpcError], ErrorObject]


class InboundRequest:
    """An inbound request, from arrival to its single response."""

    def __init__(
        self,
        request: Request,
        answer: Callable[[bytes], None],
        describe_error: DescribeError = describe_error,
    ) -> None:
        self.request = request
        self.scope = anyio.CancelScope()
        self.on_cancel: Callable[[], None] = self.scope.cancel
        """The action of `$/cancel_request`; a handler may install a gentler one."""
        self.is_answered = False
        self.is_done = anyio.Event()
        self._answer = answer
        self._describe_error = describe_error

    def succeed(self, result: Payload) -> None:
        """Send the result now, unless the request is already answered. The job may continue."""
        if not self.is_answered:
            # Encode first: if the result is not JSON this raises, and the request must still count
            # as unanswered, so that `fail` can report it.
            line = result_line(self.request.id, result)
            self.is_answered = True
            self._answer(line)

    def fail(self, error: RpcError) -> None:
        """Send an error now, unless the request is already answered."""
        if not self.is_answered:
            line = error_line(self.request.id, self._describe_error(self.request.method, error))
            self.is_answered = True
            self._answer(line)


RequestHandler = Callable[[JsonValue, InboundRequest], Job]
NotificationHandler = Callable[[JsonValue], None]


@frozen_dataclass
class Handlers:
    """The methods this end serves, by name. Called in arrival order and never awaited."""

    requests: Mapping[str, RequestHandler] = field(default_factory=dict[str, RequestHandler])
    notifications: Mapping[str, NotificationHandler] = field(
        default_factory=dict[str, NotificationHandler]
    )


class _PendingRequest:
    """An outgoing request, until its response arrives or can no longer arrive."""

    def __init__(self) -> None:
        self.done = anyio.Event()
        self.response: Response | None = None

    def resolve(self, response: Response | None) -> None:
        self.response = response
        self.done.set()


class Peer:
    """A bidirectional JSON-RPC endpoint; `run` serves until the stream ends."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        """Where to queue notification lines without waiting, and to learn how much is unsent."""
        self.describe_error: DescribeError = describe_error
        """How a method's errors are written, for other sides that read them in their own way."""
        self._handlers = Handlers()
        # Keyed by id and its type: in Python 1 == 1.0 == True, in JSON-RPC they are different ids.
        # Requests with id null cannot be told apart and are all served, so each is its own key.
        self._inbound_requests: dict[Hashable, InboundRequest] = {}
        self._pending_requests: dict[RequestId, _PendingRequest] = {}
        self.has_ended = anyio.Event()
        """Set when the other side has ended its stream, however long the shutdown takes."""
        self._ids = itertools.count(1)
        self._is_closed = False
        self._methods: Methods
        self._tasks: TaskGroup

    async def run(
        self, handlers: Handlers, on_disconnect: Callable[[], Awaitable[None]] | None = None
    ) -> None:
        """Serve these handlers until the other side ends its stream.

        Then outgoing requests fail with ConnectionClosedError. If the input was a file, inbound
        requests are finished. Otherwise `on_disconnect` is called to end long-running work,
        requests that end within DRAIN_SECONDS are answered, and the rest is cancelled.
        """
        self._handlers = handlers
        self._methods = build_method_table(handlers.requests)
        async with anyio.create_task_group() as self._tasks:
            while batch := await self.transport.receive():
                for line in batch:
                    # Only for a file: waiting here on a live stream would also delay a cancel
                    # behind a full queue. A file has no live sender to deadlock with.
                    if self.transport.finishes_requests_at_end:
                        await self.transport.wait_for_capacity()
                    self._handle_line(line)
                # `receive` may return without waiting: let the tasks just started run.
                await lowlevel.checkpoint()
            # Before the drain: a job that waits for the client's answer could never end otherwise.
            self._is_closed = True
            for pending_request in self._pending_requests.values():
                # Only wakes them; each removes itself from the dict later, so iterating it is safe.
                pending_request.resolve(None)
            self.has_ended.set()
            if not self.transport.finishes_requests_at_end:
                # A script may close its end right after its last request: let quick ones finish.
                if on_disconnect is not None:
                    with anyio.move_on_after(DRAIN_SECONDS):
                        await on_disconnect()
                        await self.wait_until_answered()
                self._tasks.cancel_scope.cancel()

    async def request(self, method: str, params: Payload) -> JsonValue:
        """Send a request and return its result. Cancelling the wait cancels it on the other side.

        Raises:
            RemoteError: the other side answered with an error.
            ConnectionClosedError: no answer can arrive any more.
        """
        if self._is_closed:
            raise ConnectionClosedError
        number, pending_request = next(self._ids), _PendingRequest()
        # Register before sending: the response may be read before this task runs again.
        self._pending_requests[number] = pending_request
        self.transport.send(request_line(number, method, params))
        try:
            await pending_request.done.wait()
        except anyio.get_cancelled_exc_class():
            # `send` does not wait, so it also works inside a cancelled scope.
            self.transport.send(notification_line(CANCEL_METHOD, {"requestId": number}))
            raise
        finally:
            # A response that arrives after a cancel finds no entry and is ignored.
            self._pending_requests.pop(number, None)
        if pending_request.response is None:
            raise ConnectionClosedError
        if pending_request.response.error is not None:
            raise RemoteError(pending_request.response.error)
        return pending_request.response.result

    async def notify(self, method: str, params: Payload) -> None:
        """Send a notification, first waiting while too much is unsent."""
        await self.transport.wait_for_capacity()
        self.transport.send(notification_line(method, params))

    async def wait_until_answered(self) -> None:
        """Wait until every request read so far is finished."""
        # A copy: the dict shrinks while waiting, and requests that arrive later do not count.
        for call in tuple(self._inbound_requests.values()):
            await call.is_done.wait()

    def _handle_line(self, line: Line) -> None:
        if isinstance(line, OversizedLine):
            self._reject_oversized(line)
            return
        try:
            message = parse_message(line)
        except MalformedError as malformed:
            logger.debug("malformed line: %s", malformed)
            # Without an id the client cannot match the answer, and a stream of garbage must not
            # fill the queue without bound while the client does not read.
            if malformed.request_id is not None or self.transport.has_capacity:
                self.transport.send(error_line(malformed.request_id, malformed.error))
            return
        match message:
            case Request():
                self._start_request(message)
            case Notification():
                self._handle_notification(message)
            case Response():
                self._handle_response(message)
            case None:
                logger.debug("ignored a response without a usable id")

    def _reject_oversized(self, line: OversizedLine) -> None:
        """Answer an oversized call; if it is a response, fail its request."""
        reason = f"the message is longer than {line.limit_bytes} bytes; send a smaller message"
        error = ErrorObject(INVALID_REQUEST, f"Message too large: {reason}", {"details": reason})
        identifier = find_leading_id(line.head)
        # A response must never be answered; its own request fails instead of waiting forever.
        if starts_as_response(line.head):
            self._handle_response(Response(identifier, error=error))
        else:
            self.transport.send(error_line(identifier, error))

    def _start_request(self, request: Request) -> None:
        # Runs inside the read loop, without awaiting: a `$/cancel_request` directly behind this
        # request is read next and must find it in `_inbound_requests`.
        call = InboundRequest(request, self.transport.send, self.describe_error)
        key = call if request.id is None else (type(request.id), request.id)
        try:
            if key in self._inbound_requests:
                reason = f"id {request.id!r} is in use by a request that is not answered yet"
                raise InvalidRequestError(reason)
            job = dispatch(self._methods, request, call)
        except RpcError as error:
            call.fail(error)
            return
        self._inbound_requests[key] = call
        self._tasks.start_soon(self._run_request, call, job, key)

    async def _run_request(self, call: InboundRequest, job: Job, key: Hashable) -> None:
        """Await the job, send the response and run its follow-up; answer every failure."""
        try:
            with call.scope:
                try:
                    reply = await job()
                except RpcError as error:
                    call.fail(error)
                    return
                call.succeed(reply.result)
                if reply.after_response is not None:
                    await reply.after_response()
        except Exception as error:
            # If the response was already sent, `fail` does nothing and only the log line remains.
            logger.exception("%s failed", call.request.method)
            call.fail(InternalError(f"{type(error).__name__}: {error}"))
        finally:
            # Cancelled by the client or from inside the job: either way the request needs an
            # answer. Not while the peer shuts down, when the client is gone.
            if not self._tasks.cancel_scope.cancel_called:
                call.fail(RpcError(REQUEST_CANCELLED, "Request cancelled"))
            call.is_done.set()
            del self._inbound_requests[key]

    def _handle_notification(self, notification: Notification) -> None:
        if notification.method == CANCEL_METHOD:
            self._handle_cancel(notification.params)
            return
        handler = self._handlers.notifications.get(notification.method)
        if handler is None:
            logger.debug("ignored the notification %s", notification.method)
            return
        try:
            handler(notification.params)
        except RpcError as error:
            logger.warning(
                "ignored an invalid notification %s: %s", notification.method, error.data
            )
        except Exception:
            logger.exception("the notification %s failed", notification.method)

    def _handle_cancel(self, params: JsonValue) -> None:
        # False marks "absent": it is not a valid id, whereas null is.
        identifier: object = params.get("requestId", False) if isinstance(params, dict) else False
        if identifier is None:
            # Any of the requests with id null may be meant: take the newest without an answer.
            unnamed = [call for call in self._inbound_requests.values() if call.request.id is None]
            call = next((call for call in reversed(unnamed) if not call.is_answered), None)
        elif is_request_id(identifier):
            call = self._inbound_requests.get((type(identifier), identifier))
        else:
            call = None
        if call is not None:
            call.on_cancel()

    def _handle_response(self, response: Response) -> None:
        pending_request = self._pending_requests.pop(response.id, None)
        if pending_request is None:
            logger.debug("ignored a response to %r: no request is pending under it", response.id)
        else:
            pending_request.resolve(response)

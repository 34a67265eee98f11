"""Loopback listener that receives the browser after the user has signed in to a server.

It accepts one redirect: `GET /callback` with the state of the sign-in that is under way. Any web
page can send a browser here, so every other request is answered with an error and changes nothing.
"""

import secrets
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from http import HTTPStatus
from urllib.parse import parse_qs, urlsplit

import anyio
from anyio.abc import SocketListener, SocketStream

from acp_server.mcp.ports import ServerError
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.lines import to_single_line
from acp_server.tools.stream_server import serve_streams

LISTEN_HOST = "127.0.0.1"
PATH = "/callback"
MAX_HEAD_BYTES = 32 * 1024
REQUEST_SECONDS = 10.0
"""How long a browser may take to send its request."""
READ_BYTES = 4096
MAX_REASON_CHARACTERS = 200
_PAGE = """<!doctype html><meta charset="utf-8"><title>acp-server</title><p>{text}</p>"""
_HEAD = (
    "HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: text/html; charset=utf-8\r\n"
    "content-length: {length}\r\nconnection: close\r\ncache-control: no-store\r\n"
    "referrer-policy: no-referrer\r\ncontent-security-policy: default-src 'none'\r\n\r\n"
)
SIGNED_IN = "You can close this page and go back to your editor."
REFUSED = "The sign-in was refused. You can close this page and go back to your editor."
UNKNOWN = "This address belongs to no sign-in that is under way."


@frozen_dataclass
class Redirect:
    """The parameters of an accepted redirect."""

    code: str
    state: str
    issuer: str | None


class CallbackListener:
    """Waits for the redirect of one sign-in."""

    def __init__(self, host: str, port: int) -> None:
        """Prepare; `host` and `port` are those of the address that the browser is sent to."""
        self.port = port
        self.url = f"http://{host}:{port}{PATH}"
        self._hosts = {f"{each}:{port}" for each in (host, LISTEN_HOST, "localhost")}
        self._state = ""
        self._redirect: Redirect | None = None
        self._refusal = ""
        self._answered = anyio.Event()

    def expect(self, state: str) -> None:
        """Accept a redirect with this state from now on."""
        self._state = state

    async def wait(self) -> Redirect:
        """Return the redirect once it has come.

        Raises:
            ServerError: The user or the sign-in page refused.
        """
        await self._answered.wait()
        if self._redirect is None:
            raise ServerError(self._refusal)
        return self._redirect

    async def serve(self, browser: SocketStream) -> None:
        """Answer one connection of a browser."""
        try:
            async with browser:
                with anyio.move_on_after(REQUEST_SECONDS):
                    status, text = self._answer(await _read_head(browser))
                    body = _PAGE.format(text=text).encode()
                    head = _HEAD.format(status=status, length=len(body)).encode()
                    await browser.send(head + body)
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            return  # the browser has gone; if its request was complete, it counts

    def _answer(self, head: str) -> tuple[HTTPStatus, str]:
        request_line, *header_lines = head.split("\r\n")
        method, _, rest = request_line.partition(" ")
        target = urlsplit(rest.partition(" ")[0])
        headers = (line.partition(":") for line in header_lines)
        hosts = [value.strip() for name, _, value in headers if name.lower() == "host"]
        if method != "GET" or target.path != PATH:
            return HTTPStatus.NOT_FOUND, UNKNOWN
        # Security: another host name means that a web page had it resolved to this machine.
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return HTTPStatus.BAD_REQUEST, UNKNOWN
        values = {name: each[0] for name, each in parse_qs(target.query).items()}
        state, code = values.get("state", ""), values.get("code", "")
        is_expected = self._state and secrets.compare_digest(state.encode(), self._state.encode())
        if not is_expected or self._answered.is_set():
            return HTTPStatus.BAD_REQUEST, UNKNOWN
        if code and "error" not in values:
            self._redirect = Redirect(code, state, values.get("iss"))
        else:
            reasons = (values.get("error", "no code came back"), values.get("error_description"))
            reason = to_single_line(": ".join(filter(None, reasons)), MAX_REASON_CHARACTERS)
            self._refusal = f"the sign-in was refused ({reason})"
        self._answered.set()
        return HTTPStatus.OK, REFUSED if self._redirect is None else SIGNED_IN


@asynccontextmanager
async def open_callback_listener(host: str, port: int) -> AsyncGenerator[CallbackListener]:
    """Listen on loopback; port 0 takes a free one.

    Raises:
        ServerError: The port is in use.
    """
    try:
        listening = socket.create_server((LISTEN_HOST, port))
    except OSError as error:
        message = f"the sign-in cannot return to this machine: port {port} is in use ({error})"
        raise ServerError(message) from error
    failure: ServerError | None = None
    listener = CallbackListener(host, int(listening.getsockname()[1]))
    async with (
        await SocketListener.from_socket(listening) as accepting,
        anyio.create_task_group() as tasks,
    ):
        # Any web page can have a browser connect here as often as it likes.
        tasks.start_soon(serve_streams, accepting, listener.serve)
        try:
            yield listener
        except ServerError as error:  # raised outside: the task group would wrap it
            failure = error
        tasks.cancel_scope.cancel()
    if failure is not None:
        raise failure


async def _read_head(browser: SocketStream) -> str:
    """Return a request up to its empty line; it is cut if it is too long or ends before."""
    head = b""
    try:
        while b"\r\n\r\n" not in head and len(head) < MAX_HEAD_BYTES:
            head += await browser.receive(READ_BYTES)
    except anyio.EndOfStream:
        pass
    return head.partition(b"\r\n\r\n")[0].decode("latin-1")

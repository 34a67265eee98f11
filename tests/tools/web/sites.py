"""Local web sites that answer byte by byte as the test says, and record requests."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

import anyio
from anyio.abc import ByteStream, SocketAttribute

Send = Callable[[bytes], Awaitable[None]]
Respond = Callable[[Send], Awaitable[None]]


@dataclass(slots=True)
class LocalSite:
    """HTTP server on a local port."""

    pages: dict[str, Respond]
    port: int = 0
    requests: list[str] = field(default_factory=list[str])
    """Request heads, in order."""

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    async def serve(self, stream: ByteStream) -> None:
        async with stream:
            with suppress(anyio.BrokenResourceError, anyio.EndOfStream, anyio.ClosedResourceError):
                head = (await _head(stream)).decode()
                self.requests.append(head)
                await self.pages[head.split(" ")[1]](stream.send)


def make_page(
    body: str | bytes, content_type: str = "text/html; charset=utf-8", **headers: str
) -> Respond:
    """Return a responder that sends a complete body."""
    data = body.encode() if isinstance(body, str) else body

    async def respond(send: Send) -> None:
        named = {"Content-Type": content_type, "Content-Length": str(len(data))} | {
            name.replace("_", "-"): value for name, value in headers.items()
        }
        await send(head("200 OK", named) + data)

    return respond


def make_redirect(location: str, status: str = "302 Found") -> Respond:
    """Return a responder that sends a redirect."""

    async def respond(send: Send) -> None:
        await send(head(status, {"Location": location, "Content-Length": "0"}))

    return respond


def head(status: str, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status}", *(f"{name}: {value}" for name, value in headers.items())]
    return "".join(f"{line}\r\n" for line in [*lines, ""]).encode()


@asynccontextmanager
async def open_site(pages: dict[str, Respond]) -> AsyncGenerator[LocalSite]:
    """Serve pages by path."""
    site = LocalSite(pages)
    async with (
        await anyio.create_tcp_listener(local_host="127.0.0.1") as listener,
        anyio.create_task_group() as tasks,
    ):
        site.port = int(listener.extra(SocketAttribute.local_port))  # noqa: S610 - no database
        tasks.start_soon(listener.serve, site.serve)
        yield site
        tasks.cancel_scope.cancel()


async def _head(stream: ByteStream) -> bytes:
    received = b""
    while b"\r\n\r\n" not in received:
        received += await stream.receive()
    return received

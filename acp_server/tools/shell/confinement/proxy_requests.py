"""The requests that a proxy receives: which host they are for, and what is sent there. Pure."""

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.web.addresses import WebAddress, parse_address
from acp_server.tools.web.errors import AddressError

MAX_HEAD_BYTES = 64 * 1024
_END_OF_HEAD = b"\r\n\r\n"
_HOP_HEADERS = (b"connection:", b"proxy-connection:", b"proxy-authorization:", b"keep-alive:")
_VERSIONS = (b"HTTP/1.0", b"HTTP/1.1")


class BadRequestError(Exception):
    """The request is not one for a proxy."""


@frozen_dataclass
class ProxyRequest:
    """A request for a host."""

    address: WebAddress
    first_bytes: bytes
    """What the host is sent first."""
    is_tunnel: bool = False
    """Whether the client will speak to the host by itself (CONNECT)."""


def find_head(received: bytes) -> bytes | None:
    """Return the head of a request with its empty line; None if more is to come.

    Raises:
        BadRequestError: It is too long.
    """
    end = received.find(_END_OF_HEAD)
    if end < 0 and len(received) < MAX_HEAD_BYTES:
        return None
    if not 0 <= end <= MAX_HEAD_BYTES:
        raise BadRequestError("its head is too long")
    return received[: end + len(_END_OF_HEAD)]


def parse_request(head: bytes, rest: bytes) -> ProxyRequest:
    """Parse the head of a request; `rest` is what was received behind it.

    Raises:
        BadRequestError: It is not a request for a proxy, or its host is none.
    """
    request_line, *headers = head.removesuffix(_END_OF_HEAD).split(b"\r\n")
    method, _, remainder = request_line.partition(b" ")
    target, _, version = remainder.rpartition(b" ")
    if version not in _VERSIONS or not method.isalpha() or not target.isascii():
        raise BadRequestError("it is no HTTP request")
    try:
        if method == b"CONNECT":
            return ProxyRequest(parse_address(f"https://{target.decode()}/"), rest, is_tunnel=True)
        address = parse_address(target.decode())
    except AddressError as error:
        raise BadRequestError(str(error)) from error
    if address.scheme != "http":
        raise BadRequestError("only http:// addresses are fetched; use CONNECT for others")
    # One request per connection: the next one may be for another host.
    forwarded = [line for line in headers if not line.lower().startswith(_HOP_HEADERS)]
    first_line = b" ".join((method, address.target.encode(), version))
    lines = (first_line, *forwarded, b"Connection: close")
    return ProxyRequest(address, b"\r\n".join(lines) + _END_OF_HEAD + rest)


def build_refusal(status: str, reason: str) -> bytes:
    """Return a response that refuses a request; clients show the status line or the body."""
    line = " ".join(reason.encode("ascii", "replace").decode().split())
    body = f"{line}\n".encode()
    return (
        f"HTTP/1.1 {status} {line}\r\nContent-Type: text/plain\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    ).encode() + body

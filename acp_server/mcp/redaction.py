"""Redacts a server's secrets: values of environment variables, headers and parts of the URL."""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from urllib.parse import parse_qsl, unquote

from acp_server.mcp.ports import Json
from acp_server.mcp.texts import split_url
from acp_server.session.ports.mcp_configs import (
    ClientServerConfig,
    ServerConfig,
    StdioServerConfig,
)
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.json_values import map_strings

MIN_SECRET_CHARACTERS = 6
"""Shorter values, such as 1 or true, are too common to be secrets and are not redacted."""
HIDDEN = "[hidden]"
_SECRET_NAME = re.compile(r"key|token|secret|passw|pwd|auth|credential|cookie", re.IGNORECASE)


@frozen_dataclass
class Redaction:
    """The secrets of one server, longest first, so that no part of a longer one remains."""

    secrets: Sequence[str] = ()
    likely_secrets: Sequence[str] = ()
    """Values whose names mark them as secrets.

    Only these are redacted in results: other values, such as a directory, can be part of a result.
    """

    def __call__(self, text: str) -> str:
        """Return a text about a server without any of its secrets."""
        return _redact(self.secrets, text)

    def extended(self, tokens: Sequence[str]) -> "Redaction":
        """Return a redaction of these tokens, too."""
        if not tokens:
            return self
        return Redaction(
            _sort_by_length((*self.secrets, *tokens)),
            _sort_by_length((*self.likely_secrets, *tokens)),
        )

    def redact_result(self, result: Json) -> Json:
        """Return a server's result without its likely secrets."""
        if not self.likely_secrets:
            return result
        hide = partial(_redact, self.likely_secrets)
        return {name: map_strings(value, hide) for name, value in result.items()}


def make_redaction(server: ServerConfig) -> Redaction:
    """Return the redaction of a server's secrets."""
    named_secrets = list(_named_secrets(server))
    likely_secrets = [value for name, value in named_secrets if _SECRET_NAME.search(name)]
    return Redaction(
        _sort_by_length(value for _, value in named_secrets), _sort_by_length(likely_secrets)
    )


def _sort_by_length(values: Iterable[str]) -> Sequence[str]:
    # Words too: a header holds `Bearer TOKEN`, but a server may print the token alone.
    found = {part for value in values for part in (value, *value.split())}
    long = (each for each in found if len(each) >= MIN_SECRET_CHARACTERS)
    return tuple(sorted(long, key=lambda each: (-len(each), each)))


def _redact(secrets: Sequence[str], text: str) -> str:
    for secret in secrets:
        text = text.replace(secret, HIDDEN)
    return text


def _named_secrets(server: ServerConfig) -> Iterator[tuple[str, str]]:
    if isinstance(server, StdioServerConfig):
        yield from server.environment.items()
        return
    if isinstance(server, ClientServerConfig):  # its secrets are the client's
        return
    parts = split_url(server.url)
    yield "query", parts.query
    if not parts.netloc:  # not a valid URL: any part of it may be secret
        yield "password", server.url
    yield from parse_qsl(parts.query)
    user, _, _ = parts.netloc.rpartition("@")
    for part in user.split(":"):
        yield "password", part
        yield "password", unquote(part)
    yield from server.headers.items()

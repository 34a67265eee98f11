"""Stored sign-ins of remote servers: tokens and client registrations, kept as API keys are.

One entry per server name and URL, in the system keyring or else in a file with mode 0600.
"""

import hashlib
import json
from pathlib import Path

from anyio import to_thread
from pydantic import JsonValue

from acp_server.config.credentials import KeyStore
from acp_server.mcp.ports import Json, ServerError
from acp_server.mcp.texts import split_url
from acp_server.session.ports.mcp_configs import HttpServerConfig
from acp_server.text.json_values import as_object

DIGEST_CHARACTERS = 16


class SignInStore:
    """The stored sign-in of one server."""

    def __init__(self, home: Path, server: HttpServerConfig) -> None:
        self._keys = KeyStore(home, account=account_of(server))

    async def load(self) -> Json:
        """Return the stored values; none if there are none, or no valid ones."""
        credential = await to_thread.run_sync(self._keys.load)
        text = None if credential is None else credential.api_key
        try:
            value: JsonValue = json.loads(text or "{}")
        except (ValueError, RecursionError):
            return {}
        return as_object(value)

    async def save(self, values: Json) -> None:
        """Store values.

        Raises:
            ServerError: They cannot be stored.
        """
        try:
            await to_thread.run_sync(self._keys.save, json.dumps(dict(values)))
        except OSError as error:
            raise ServerError(f"the sign-in cannot be stored: {error}") from error

    async def delete(self) -> None:
        """Delete the stored values.

        Raises:
            ServerError: They cannot be deleted.
        """
        try:
            await to_thread.run_sync(self._keys.delete)
        except OSError as error:
            raise ServerError(f"the stored sign-in cannot be deleted: {error}") from error


def account_of(server: HttpServerConfig) -> str:
    """Return the account name that a server's sign-in is stored under.

    Security: the URL counts, so that another server of the same name never gets the tokens. It may
    hold a secret itself, so only its host is readable.
    """
    identity = json.dumps([server.name, server.url])
    digest = hashlib.sha256(identity.encode(errors="surrogatepass")).hexdigest()
    return f"mcp-sign-in {split_url(server.url).hostname or ''} {digest[:DIGEST_CHARACTERS]}"

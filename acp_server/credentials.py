"""What the server signs in with: what is configured, else the key that was stored last.

A key never leaves this module but to the endpoint it is for: not in a log, a prompt, a session or
a child's environment.
"""

import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import cast

from anyio import to_thread

from acp_server.frozen import frozen
from skills_store.atomic import write_atomically

logger = logging.getLogger(__name__)

SERVICE = "hermes-acp-server"
ACCOUNT = "anthropic-api-key"
"""The account of the first provider there was; that of others is made in the same way."""
PRIVATE = 0o600


class _BrokenFileError(ValueError):
    """A file of keys holds no JSON object."""


@frozen
class Credential:
    """A key or a token, and where it was found. Its text shows neither."""

    source: str
    api_key: str | None = field(default=None, repr=False)
    auth_token: str | None = field(default=None, repr=False)


def account_for(provider: str, address: str = "") -> str:
    """Return the name that a key is stored under; another address is another key."""
    return " ".join(part for part in (f"{provider}-api-key", address) if part)


class KeyStore:
    """The stored key of one account: in the system's keyring, else in a file of mode 0600.

    A key in the keyring takes the file's away, so that a file is always the newer of the two.
    """

    def __init__(self, home: Path, *, account: str = ACCOUNT, use_keyring: bool = True) -> None:
        self._file = home / "acp" / "credentials.json"
        self.account = account
        """The name that the key is stored under."""
        self._use_keyring = use_keyring

    def load(self) -> Credential | None:
        """Return the stored key, if there is one. Blocks: a keyring may ask the user."""
        from_file = self._read_file()
        if from_file:
            return Credential(str(self._file), api_key=from_file)
        from_keyring = _keyring_get(self.account) if self._use_keyring else None
        return Credential("the system keyring", api_key=from_keyring) if from_keyring else None

    def save(self, api_key: str) -> str:
        """Store a key and return where it lies.

        Raises:
            OSError: it could not be stored.
        """
        if self._use_keyring and _keyring_set(self.account, api_key):
            self._remove_from_file()
            return "the system keyring"
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._put_broken_aside()
        self._write_file({**self._stored(), self.account: api_key})
        return str(self._file)

    def forget(self) -> None:
        """Remove the stored key from wherever it lies.

        Raises:
            OSError: the file is still there.
        """
        if self._use_keyring:
            _keyring_delete(self.account)
        self._remove_from_file()

    def _remove_from_file(self) -> None:
        """Take the key out of the file, and the file away with the last of its keys."""
        others = {name: key for name, key in self._stored().items() if name != self.account}
        if others:
            self._write_file(others)
            return
        with suppress(FileNotFoundError, NotADirectoryError):
            self._file.unlink()

    def _write_file(self, keys: Mapping[str, str]) -> None:
        write_atomically(self._file, json.dumps(keys).encode(), PRIVATE)

    def _read_file(self) -> str | None:
        return self._in_file().get(self.account)

    def _in_file(self) -> Mapping[str, str]:
        """Return the keys that the file has, by their accounts; none if it cannot be read."""
        try:
            return self._stored()
        except OSError:
            return {}

    def _stored(self) -> Mapping[str, str]:
        """Return the same, for who writes it anew.

        Raises:
            OSError: it cannot be read, so that nobody knows which keys would be lost.
        """
        try:
            return _keys_of(self._file.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return {}

    def _put_broken_aside(self) -> None:
        """Move a file away that holds no keys, for a person to look at."""
        try:
            _keys_of(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return
        except ValueError:
            aside = self._file.with_name(f"{self._file.name}.broken")
            logger.warning("%s holds no keys, and is put aside as %s", self._file, aside)
            self._file.replace(aside)


class Credentials:
    """What holds now: what was configured, else what is stored; nothing after a logout."""

    def __init__(self, configured: Credential | None, store: KeyStore) -> None:
        self._configured = configured
        self._store = store
        self._is_signed_out = False

    async def current(self) -> Credential | None:
        """Return what to sign in with, looked up anew: another process may have stored a key."""
        if self._is_signed_out:
            return None
        return self._configured or await to_thread.run_sync(self._store.load)

    async def sign_in(self) -> bool:
        """End a logout; return whether there is something to sign in with."""
        self._is_signed_out = False
        return await self.current() is not None

    async def sign_out(self) -> None:
        """Forget the stored key, and use a configured one no more in this process."""
        self._is_signed_out = True
        await to_thread.run_sync(self._store.forget)


def _keys_of(text: str) -> Mapping[str, str]:
    """Return the keys that a file's text has, by their accounts.

    Raises:
        _BrokenFileError: it is no JSON object.
    """
    try:
        stored: object = json.loads(text)
    except (ValueError, RecursionError):
        raise _BrokenFileError from None
    if not isinstance(stored, dict):
        raise _BrokenFileError
    entries = cast("Mapping[str, object]", stored).items()
    return {name: key for name, key in entries if isinstance(key, str)}


def _keyring_get(account: str) -> str | None:
    import keyring
    import keyring.errors

    try:
        return keyring.get_password(SERVICE, account)
    except (keyring.errors.KeyringError, RuntimeError) as error:
        logger.debug("no keyring: %s", error)
        return None


def _keyring_set(account: str, api_key: str) -> bool:
    """Store a key; false if there is no keyring, or one that keeps nothing."""
    import keyring
    import keyring.errors

    try:
        keyring.set_password(SERVICE, account, api_key)
    except (keyring.errors.KeyringError, RuntimeError) as error:
        logger.debug("no keyring: %s", error)
        return False
    return _keyring_get(account) == api_key


def _keyring_delete(account: str) -> None:
    import keyring
    import keyring.errors

    try:
        keyring.delete_password(SERVICE, account)
    except (keyring.errors.KeyringError, RuntimeError) as error:
        logger.debug("nothing in the keyring: %s", error)

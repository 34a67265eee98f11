"""Credentials for model providers: configured ones, stored ones, and those that Hermes keeps.

A key is passed only to the endpoint it belongs to: never to a log, a prompt, a session or a child
process's environment.
"""

import json
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import cast

from anyio import to_thread

from acp_server.startup.fast_dataclass import frozen_dataclass
from skills_store.atomic import write_atomically
from skills_store.locks import locked

logger = logging.getLogger(__name__)

KEYRING_SERVICE = "hermes-acp-server"
DEFAULT_ACCOUNT = "anthropic-api-key"
"""Keyring account of the Anthropic key; other providers follow the same pattern."""
PRIVATE_FILE_MODE = 0o600


class _BrokenFileError(ValueError):
    """The credentials file does not hold a JSON object."""


@frozen_dataclass
class Credential:
    """An API key or auth token and its source. `repr` shows neither secret."""

    source: str
    api_key: str | None = field(default=None, repr=False)
    auth_token: str | None = field(default=None, repr=False)
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """Further headers that requests with it need."""


def account_name(provider: str, address: str = "") -> str:
    """Return the account name to store a key under; each non-default host has its own key."""
    return " ".join(part for part in (f"{provider}-api-key", address) if part)


class KeyStore:
    """Stored key of one account: in the system keyring, else in a file with mode 0600.

    Saving to the keyring removes the key from the file. So if the file has a key, it is the newer
    one, and `load` looks there first.
    """

    def __init__(
        self, home: Path, *, account: str = DEFAULT_ACCOUNT, use_keyring: bool = True
    ) -> None:
        self._file = home / "acp" / "credentials.json"
        self.account = account
        """The name under which the key is stored."""
        self._use_keyring = use_keyring

    def load(self) -> Credential | None:
        """Return the stored key, if any. Blocks: the keyring may prompt the user."""
        from_file = None
        with suppress(OSError):
            from_file = self._read_keys().get(self.account)
        if from_file:
            return Credential(str(self._file), api_key=from_file)
        from_keyring = _keyring_get(self.account) if self._use_keyring else None
        return Credential("the system keyring", api_key=from_keyring) if from_keyring else None

    def keys_in_file(self) -> Sequence[str]:
        """Return the keys of all accounts in the file, such as to remove them from texts."""
        with suppress(OSError):
            return tuple(self._read_keys().values())
        return ()

    def save(self, api_key: str) -> str:
        """Store a key and return its location, for display.

        Raises:
            OSError: The key could not be stored.
        """
        if self._use_keyring and _keyring_set(self.account, api_key):
            self._delete_from_file()
            return "the system keyring"
        self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Servers refresh tokens of MCP servers at any time: none may lose another's key.
        with locked(self._file):
            self._rename_broken_file()
            self._write_keys({**self._read_keys(), self.account: api_key})
        return str(self._file)

    def delete(self) -> None:
        """Delete the stored key from the keyring and the file.

        Raises:
            OSError: The file could not be read, rewritten or removed.
        """
        if self._use_keyring:
            _keyring_delete(self.account)
        self._delete_from_file()

    def _delete_from_file(self) -> None:
        """Remove the key from the file; delete the file with its last key."""
        if not self._file.exists():
            return
        with locked(self._file):
            self._delete_from_locked_file()

    def _delete_from_locked_file(self) -> None:
        others = {name: key for name, key in self._read_keys().items() if name != self.account}
        if others:
            self._write_keys(others)
            return
        with suppress(FileNotFoundError, NotADirectoryError):
            self._file.unlink()

    def _write_keys(self, keys: Mapping[str, str]) -> None:
        write_atomically(self._file, json.dumps(keys).encode(), PRIVATE_FILE_MODE)

    def _read_keys(self) -> Mapping[str, str]:
        """Return the file's keys by account, for rewriting the file.

        Raises:
            OSError: The file cannot be read; rewriting it could lose other accounts' keys.
        """
        try:
            return _parse_keys(self._file.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return {}

    def _rename_broken_file(self) -> None:
        """Rename a file that is not valid JSON, so that the user can inspect it."""
        try:
            _parse_keys(self._file.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return
        except ValueError:
            backup = self._file.with_name(f"{self._file.name}.broken")
            logger.warning("%s is not a valid credentials file; moved to %s", self._file, backup)
            self._file.replace(backup)


class CredentialProvider:
    """Current credential of a provider: configured, stored, or one of `others`.

    None after a logout. A credential that fails is set aside for a while if there is another one.
    """

    def __init__(
        self,
        configured: Credential | None,
        store: KeyStore,
        others: Callable[[], Sequence[Credential]] = tuple,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare; `others` reads the credentials that other programs keep, and may block."""
        self._configured = configured
        self._store = store
        self._others = others
        self._now = now
        self._is_signed_out = False
        self._set_aside: dict[Credential, float] = {}
        """Until when each failed credential is not used."""
        self._usable_count = 0

    @property
    def has_spare(self) -> bool:
        """Whether another credential could take the place of the one that was current last."""
        return self._usable_count > 1

    async def current(self) -> Credential | None:
        """Return the current credential; reads the stores each time: they may have changed."""
        available = await self._available()
        usable = [each for each in available if self._set_aside.get(each, 0.0) <= self._now()]
        self._usable_count = len(usable)
        return next(iter(usable or available), None)

    async def set_aside(self, credential: Credential, seconds: float) -> bool:
        """Do not use a credential for some time; return whether another one takes its place."""
        self._set_aside[credential] = self._now() + seconds
        following = await self.current()
        return following is not None and following != credential

    async def sign_in(self) -> bool:
        """Undo a logout; return whether a credential is available."""
        self._is_signed_out = False
        return await self.current() is not None

    async def sign_out(self) -> None:
        """Delete the stored key and ignore all others for the rest of this process."""
        self._is_signed_out = True
        await to_thread.run_sync(self._store.delete)

    async def _available(self) -> Sequence[Credential]:
        if self._is_signed_out:
            return ()
        own = self._configured or await to_thread.run_sync(self._store.load)
        if own is not None and self._others is tuple:
            return (own,)
        others = await to_thread.run_sync(self._others)
        return tuple(dict.fromkeys((*([] if own is None else [own]), *others)))


def _parse_keys(text: str) -> Mapping[str, str]:
    """Parse the keys in a credentials file, by account.

    Raises:
        _BrokenFileError: The text is not a JSON object.
    """
    try:
        document: object = json.loads(text)
    except (ValueError, RecursionError):
        raise _BrokenFileError from None
    if not isinstance(document, dict):
        raise _BrokenFileError
    entries = cast("Mapping[str, object]", document).items()
    return {name: key for name, key in entries if isinstance(key, str)}


def _keyring_get(account: str) -> str | None:
    import keyring
    import keyring.errors

    try:
        return keyring.get_password(KEYRING_SERVICE, account)
    except (keyring.errors.KeyringError, RuntimeError) as error:
        logger.debug("no keyring: %s", error)
        return None


def _keyring_set(account: str, api_key: str) -> bool:
    """Store a key; return false if there is no keyring or it did not keep the key."""
    import keyring
    import keyring.errors

    try:
        keyring.set_password(KEYRING_SERVICE, account, api_key)
    except (keyring.errors.KeyringError, RuntimeError) as error:
        logger.debug("no keyring: %s", error)
        return False
    # The "null" backend accepts every key and stores none: read the key back.
    return _keyring_get(account) == api_key


def _keyring_delete(account: str) -> None:
    import keyring
    import keyring.errors

    try:
        keyring.delete_password(KEYRING_SERVICE, account)
    except (keyring.errors.KeyringError, RuntimeError) as error:
        logger.debug("nothing in the keyring: %s", error)

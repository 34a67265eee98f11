"""Keyrings that replace the system's keyring in tests."""

from collections.abc import Generator
from contextlib import contextmanager

import keyring
from keyring.backend import KeyringBackend
from keyring.errors import NoKeyringError, PasswordDeleteError, PasswordSetError


class MemoryKeyring(KeyringBackend):
    """In-memory keyring. While it is locked, every operation fails."""

    def __init__(self, *, is_locked: bool = False) -> None:
        super().__init__()
        self.is_locked = is_locked
        self.passwords: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        """Return a password, or None."""
        if self.is_locked:
            raise NoKeyringError
        return self.passwords.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        """Store a password."""
        if self.is_locked:
            raise PasswordSetError
        self.passwords[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        """Delete a password."""
        if self.is_locked or (service, username) not in self.passwords:
            raise PasswordDeleteError
        del self.passwords[service, username]


@contextmanager
def use_keyring(ring: KeyringBackend) -> Generator[None]:
    """Make this the active keyring while the context lasts."""
    before = keyring.get_keyring()
    keyring.set_keyring(ring)
    try:
        yield
    finally:
        keyring.set_keyring(before)

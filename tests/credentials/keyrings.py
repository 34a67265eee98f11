"""Keyrings of the test's own, in the place of the system's."""

from collections.abc import Generator
from contextlib import contextmanager

import keyring
from keyring.backend import KeyringBackend
from keyring.errors import NoKeyringError, PasswordDeleteError, PasswordSetError


class Ring(KeyringBackend):
    """A keyring in memory; when it is locked, nothing goes in or out."""

    def __init__(self, *, is_locked: bool = False) -> None:
        super().__init__()
        self.is_locked = is_locked
        self.passwords: dict[tuple[str, str], str] = {}

    def get_password(self, service: str, username: str) -> str | None:
        """Return a password, if it is there."""
        if self.is_locked:
            raise NoKeyringError
        return self.passwords.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        """Keep a password."""
        if self.is_locked:
            raise PasswordSetError
        self.passwords[service, username] = password

    def delete_password(self, service: str, username: str) -> None:
        """Forget a password."""
        if self.is_locked or (service, username) not in self.passwords:
            raise PasswordDeleteError
        del self.passwords[service, username]


@contextmanager
def installed(ring: KeyringBackend) -> Generator[None]:
    """Have this be the keyring for a while."""
    before = keyring.get_keyring()
    keyring.set_keyring(ring)
    try:
        yield
    finally:
        keyring.set_keyring(before)

"""Errors of the session database.

SessionStoreError          the database cannot be used; the text gives the cause and the remedy
  DatabaseBusyError         other processes have locked it for too long
  DatabaseDamagedError      the file is not a database, or has damaged pages
  DatabaseReplacedError    the file is no longer the one that was opened
"""


class SessionStoreError(Exception):
    """The database cannot be used; the text tells the user why and how to fix it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class DatabaseBusyError(SessionStoreError):
    """Other processes have locked the database for too long."""


class DatabaseDamagedError(SessionStoreError):
    """The file is not a database, or has damaged pages."""


class DatabaseReplacedError(SessionStoreError):
    """The file that was opened was removed, or another one has taken its place."""

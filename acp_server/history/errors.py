"""Errors of the session database.

StoreError          the database cannot be used; the text gives the cause and the remedy
  BusyError         other processes have locked it for too long
  DamagedError      the file is not a database, or has damaged pages
  MisplacedError    the file is no longer the one that was opened
"""


class StoreError(Exception):
    """The database cannot be used; the text tells the user why and how to fix it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class BusyError(StoreError):
    """Other processes have locked the database for too long."""


class DamagedError(StoreError):
    """The file is not a database, or has damaged pages."""


class MisplacedError(StoreError):
    """The file that was opened was removed, or another one has taken its place."""

"""What can be wrong with the database.

StoreError                it cannot be used; the text says why and what to do
  BusyError               others kept it to themselves for too long
  DamagedError            it is no database, or has pages that are none
  MisplacedError          it is not the file any more that was opened
"""


class StoreError(Exception):
    """The database cannot be used; the text says why and what to do, for the user."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class BusyError(StoreError):
    """Others kept the database to themselves for too long."""


class DamagedError(StoreError):
    """It is no database, or has pages that are none."""


class MisplacedError(StoreError):
    """Another file stands in the place of the one that was opened, or none."""

"""Errors of installing skills. The messages are for the user.

InstallError             an installation failed
  SourceError            the source is not valid or unavailable
    ArchiveRefusedError  an archive has content that is not allowed
    CloneError           git failed
"""


class InstallError(ValueError):
    """A failed installation."""


class SourceError(InstallError):
    """The source is not valid or unavailable. `source` is as given."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(f"Cannot install from {source}: {reason}.")
        self.source = source
        self.reason = reason


class ArchiveRefusedError(SourceError):
    """An archive has content that is not allowed."""


class CloneError(SourceError):
    """Git failed."""

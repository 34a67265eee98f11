"""What can go wrong with a source, in words for the user.

InstallError             the text says what was wrong with what was asked for
  SourceError            the source is none, or cannot be had
    ArchiveRefusedError  an archive holds what no archive of skills holds
    CloneError           git could not do it
"""


class InstallError(ValueError):
    """Something that cannot be installed."""


class SourceError(InstallError):
    """The source is none, or cannot be had. `source` is as it was given."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(f"{source} cannot be installed from: {reason}.")
        self.source = source
        self.reason = reason


class ArchiveRefusedError(SourceError):
    """An archive holds what no archive of skills holds."""


class CloneError(SourceError):
    """Git could not do it."""

"""What can be wrong with a request to a session.

SessionError
  UnknownSessionError     no such session here
  UnknownModeError        not one of the modes
  UnknownOptionError      no such configuration option
  InvalidValueError       the option exists, the value does not fit it
  InvalidRootError        a workspace folder that cannot be one
  InvalidCursorError      not a cursor that a list of sessions gave out
  SessionInUseError       another process, which is alive, has the session
  ArchiveError            what is kept of sessions cannot be read or written
"""


class SessionError(Exception):
    """A request that a session cannot follow; the text says what to do instead."""


class UnknownSessionError(SessionError):
    """No session of this id is open here."""

    def __init__(self, session_id: str) -> None:
        super().__init__(f"no session {session_id!r}: it was closed, or never opened here")
        self.session_id = session_id


class UnknownModeError(SessionError):
    """Not one of the modes."""

    def __init__(self, mode: str, known: str) -> None:
        super().__init__(f"unknown mode {mode!r}; there are {known}")


class UnknownOptionError(SessionError):
    """Not one of the configuration options."""

    def __init__(self, option: str, known: str) -> None:
        super().__init__(f"unknown configuration option {option!r}; there are {known}")


class InvalidValueError(SessionError):
    """The option exists; the value is none of its values."""

    def __init__(self, option: str, value: object, known: str) -> None:
        super().__init__(f"{value!r} is no value of {option!r}; there are {known}")


class InvalidRootError(SessionError):
    """A folder that cannot be a workspace root."""


class InvalidCursorError(SessionError):
    """Not a cursor that a list of sessions gave out."""

    def __init__(self) -> None:
        super().__init__("the cursor is none of this list; ask again without one")


class SessionInUseError(SessionError):
    """Another process has the session; it can be had here when that has ended."""

    def __init__(self, session_id: str, holder: str) -> None:
        super().__init__(
            f"session {session_id!r} is open in another process ({holder}); close it there first"
        )


class ArchiveError(SessionError):
    """What is kept of sessions cannot be read or written; the text says why and what to do."""

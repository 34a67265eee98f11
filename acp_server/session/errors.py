"""Errors in requests to a session.

SessionError
  UnknownSessionError     no open or stored session has this id
  UnknownModeError        not one of the modes
  UnknownOptionError      no such configuration option
  InvalidValueError       the option has no such value
  InvalidRootError        a path that cannot be a workspace root
  InvalidCursorError      a cursor that no session list returned
  EmptyTitleError         a title of which nothing remains
  UnknownCheckpointError  the session has no such checkpoint
  RestoreRefusedError     a checkpoint cannot be restored now, or not in this scope
  SessionInUseError       another running process has the session open
  ArchiveError            stored sessions cannot be read or written
"""


class SessionError(Exception):
    """A request that a session cannot fulfil; the text suggests an alternative."""


class UnknownSessionError(SessionError):
    """There is no open or stored session with this id."""

    def __init__(self, session_id: str) -> None:
        super().__init__(
            f"no session {session_id!r}: it was closed, or never opened here; a session without a "
            "prompt is kept for one day"
        )
        self.session_id = session_id


class UnknownModeError(SessionError):
    """Not one of the modes."""

    def __init__(self, mode: str, known: str) -> None:
        super().__init__(f"unknown mode {mode!r}; choose one of {known}")


class UnknownOptionError(SessionError):
    """Not one of the configuration options."""

    def __init__(self, option: str, known: str) -> None:
        super().__init__(f"unknown configuration option {option!r}; choose one of {known}")


class InvalidValueError(SessionError):
    """The option exists but has no such value."""

    def __init__(self, option: str, value: object, known: str) -> None:
        super().__init__(f"{value!r} is not a value of {option!r}; choose one of {known}")


class InvalidRootError(SessionError):
    """A path that cannot be a workspace root."""


class InvalidCursorError(SessionError):
    """A cursor that no session list returned."""

    def __init__(self) -> None:
        super().__init__("the cursor does not belong to this list; list again without a cursor")


class EmptyTitleError(SessionError):
    """A title of which nothing remains."""

    def __init__(self) -> None:
        super().__init__("the title is empty; send one with at least one visible character")


class UnknownCheckpointError(SessionError):
    """The session has no such checkpoint."""

    def __init__(self, checkpoint: str) -> None:
        super().__init__(f"this session has no checkpoint {checkpoint!r}")


class RestoreRefusedError(SessionError):
    """A checkpoint cannot be restored now, or not in this scope; nothing was changed."""


class SessionInUseError(SessionError):
    """Another process has the session open; it becomes available when that process ends."""

    def __init__(self, session_id: str, holder: str) -> None:
        super().__init__(
            f"session {session_id!r} is open in another process ({holder}); close it there first"
        )


class ArchiveError(SessionError):
    """Stored sessions cannot be read or written; the text says why and how to fix it."""

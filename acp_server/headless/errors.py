"""Errors of a connection to an agent.

AgentClientError
  AgentStartError          the command cannot be started
  AgentDisconnectedError   it disconnected before it answered
  AgentResponseError       it answered with an error
  InvalidResultError       its result does not follow the ACP schema
  UnsupportedVersionError  it speaks another version of ACP
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import cast

from pydantic import JsonValue


class AgentClientError(Exception):
    """A connection to an agent has failed; the text is shown to the user."""


class AgentStartError(AgentClientError):
    """The agent's command cannot be started."""

    def __init__(self, command: str, reason: str) -> None:
        super().__init__(f"cannot start {command}: {reason}")
        self.command = command


class AgentDisconnectedError(AgentClientError):
    """The agent disconnected; has its exit code and the end of its stderr, if known."""

    def __init__(self, method: str, exit_code: int | None = None, stderr_tail: str = "") -> None:
        code = "" if exit_code is None else f" with exit code {exit_code}"
        details = f":\n{stderr_tail.rstrip()}" if stderr_tail.strip() else ""
        super().__init__(f"the agent exited{code} before it answered {method}{details}")
        self.method = method
        self.exit_code = exit_code
        self.stderr_tail = stderr_tail


class AgentResponseError(AgentClientError):
    """The agent answered with an error; has its unchanged code, message and data."""

    def __init__(self, method: str, code: int, message: str, data: JsonValue) -> None:
        super().__init__(f"{method}: {message} ({code})")
        self.method = method
        self.code = code
        self.message = message
        self.data = data


class InvalidResultError(AgentClientError):
    """The agent's result does not follow the ACP schema."""

    def __init__(self, method: str, answer: JsonValue, reason: str) -> None:
        super().__init__(f"the agent's answer to {method} is invalid: {reason}")
        self.method = method
        self.result = answer


class UnsupportedVersionError(AgentClientError):
    """The agent does not support this client's version of ACP."""

    def __init__(self, version: int) -> None:
        super().__init__(f"the agent uses ACP version {version}, which is not supported")
        self.version = version


@contextmanager
def unwrap_single_exception() -> Generator[None]:
    """Unwrap an exception that is alone in its (nested) exception groups and raise it."""
    try:
        yield
    except BaseExceptionGroup as group:
        error = _unwrap(group)
        raise error from error.__cause__


def _unwrap(error: BaseException) -> BaseException:
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast("BaseExceptionGroup[BaseException]", error)
    return _unwrap(group.exceptions[0]) if len(group.exceptions) == 1 else group

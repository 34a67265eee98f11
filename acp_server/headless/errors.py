"""What can go wrong between this client and an agent.

DriverError
  AgentStartError          the command cannot be started
  AgentLeftError           it ended its stream before it had answered
  AgentRefusedError        it answered with an error
  UnreadableAnswerError    it answered with what ACP does not allow
  UnsupportedVersionError  it speaks another version of ACP
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import cast

from pydantic import JsonValue


class DriverError(Exception):
    """A conversation with an agent that cannot go on; the text is for a person."""


class AgentStartError(DriverError):
    """The agent's command cannot be started."""

    def __init__(self, command: str, reason: str) -> None:
        super().__init__(f"cannot start {command}: {reason}")
        self.command = command


class AgentLeftError(DriverError):
    """The agent ended its stream; its exit code and its last words, where they are known."""

    def __init__(self, method: str, exit_code: int | None = None, last_words: str = "") -> None:
        code = "" if exit_code is None else f" with exit code {exit_code}"
        words = f":\n{last_words.rstrip()}" if last_words.strip() else ""
        super().__init__(f"the agent left{code} before it had answered {method}{words}")
        self.method = method
        self.exit_code = exit_code
        self.last_words = last_words


class AgentRefusedError(DriverError):
    """The agent's error answer, word for word."""

    def __init__(self, method: str, code: int, message: str, data: JsonValue) -> None:
        cause = data.get("message") if isinstance(data, dict) else data
        super().__init__(f"{method}: {message} ({code})" + (f": {cause}" if cause else ""))
        self.method = method
        self.code = code
        self.message = message
        self.data = data


class UnreadableAnswerError(DriverError):
    """The agent's answer does not have the shape that ACP gives it."""

    def __init__(self, method: str, answer: JsonValue, reason: str) -> None:
        super().__init__(f"the answer to {method} cannot be read: {reason}")
        self.method = method
        self.answer = answer


class UnsupportedVersionError(DriverError):
    """The agent speaks no version of ACP that this client speaks."""

    def __init__(self, version: int) -> None:
        super().__init__(f"the agent speaks version {version} of ACP; this client does not")
        self.version = version


@contextmanager
def ungrouped() -> Generator[None]:
    """Let an error that is alone out of the groups that task groups put it in."""
    try:
        yield
    except BaseExceptionGroup as group:
        error = _only(group)
        raise error from error.__cause__


def _only(error: BaseException) -> BaseException:
    if not isinstance(error, BaseExceptionGroup):
        return error
    group = cast("BaseExceptionGroup[BaseException]", error)
    return _only(group.exceptions[0]) if len(group.exceptions) == 1 else group

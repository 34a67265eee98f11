"""The facts that a prompt is made of: read once, by whoever builds it, and frozen."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ContextFile:
    """A project's instructions: the path as the model is told it, and the text."""

    path: str
    text: str
    total_characters: int
    """The length of the whole file; more than the text holds when it was cut."""


@dataclass(frozen=True, slots=True)
class PromptInputs:
    """Same inputs, same bytes out. Nothing here varies by the minute."""

    day: str
    """Weekday, month, day and year."""
    environment: str = ""
    """The operating system, the shell and the like, in a line or two."""
    workspace: str = ""
    """The absolute path of the session's folder."""
    context_files: tuple[ContextFile, ...] = ()

"""What was said, as the engine keeps it: frozen messages in an append-only list."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """Plain or Markdown text."""

    text: str


@dataclass(frozen=True, slots=True)
class Link:
    """A resource that the user pointed at without sending its text."""

    uri: str
    name: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """The model's reasoning, as far as it shows it."""

    text: str


PromptPart = Text | Link
ReplyPart = Text | Thinking


@dataclass(frozen=True, slots=True)
class UserMessage:
    """What the user sent with one prompt."""

    parts: tuple[PromptPart, ...]


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """What the model answered in one step; what a cancelled step had said stays."""

    parts: tuple[ReplyPart, ...]


Message = UserMessage | AssistantMessage


def text_of(parts: Sequence[PromptPart]) -> str:
    """Return a prompt as one text; links are written as Markdown links."""
    return "\n".join(
        part.text if isinstance(part, Text) else f"[{part.name}]({part.uri})" for part in parts
    )


class Conversation:
    """Messages in order. Only ever appended to."""

    def __init__(self) -> None:
        self._messages: list[Message] = []

    def append(self, message: Message) -> None:
        """Add a message behind all others."""
        self._messages.append(message)

    def __iter__(self) -> Iterator[Message]:
        return iter(tuple(self._messages))

    def __len__(self) -> int:
        return len(self._messages)

"""What was said, as the engine keeps it: frozen messages in an append-only list."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from pydantic import JsonValue

from acp_server.frozen import frozen


@frozen
class Text:
    """Plain or Markdown text."""

    text: str


@frozen
class Link:
    """A resource that the user pointed at without sending its text."""

    uri: str
    name: str


@frozen
class Attachment:
    """A text that the user sent along: a file, or a part of one, as the editor has it."""

    uri: str
    text: str


@frozen
class Media:
    """A picture (`image/png`, `image/jpeg`, …) or a document (`application/pdf`), as base64."""

    mime_type: str
    data: str


@frozen
class Thinking:
    """The model's reasoning, as far as it shows it.

    `signature` is the provider's seal over it and all before it; without one it is not sent back.
    """

    text: str
    signature: str = ""


@frozen
class RedactedThinking:
    """Reasoning that the provider keeps to itself; opaque, sent back as it came."""

    data: str


@frozen
class ToolCall:
    """A call that the model made; `arguments` is a JSON object, as text."""

    id: str
    name: str
    arguments: str


@frozen
class ToolResult:
    """What a call led to, for the model."""

    call_id: str
    text: str
    is_error: bool = False
    media: tuple[Media, ...] = ()


@frozen
class ProviderBlock:
    """What the provider did by itself, or said with its sources; sent back as it came."""

    block: Mapping[str, JsonValue]
    text: str = ""
    """What of it is said to the user."""
    called_id: str = ""
    """The call that it is."""
    answered_id: str = ""
    """The call whose result it is."""


PromptPart = Text | Link | Attachment | Media
UserPart = ToolResult | PromptPart
ReplyPart = Text | Thinking | RedactedThinking | ToolCall | ProviderBlock


@frozen
class UserMessage:
    """What the user sent with one prompt, or the results of the calls just before."""

    parts: tuple[UserPart, ...]


@frozen
class AssistantMessage:
    """What the model answered in one step; what a cancelled step had said stays."""

    parts: tuple[ReplyPart, ...]


Message = UserMessage | AssistantMessage


def text_of(parts: Sequence[UserPart]) -> str:
    """Return a prompt as one text: links as Markdown links, tool results left out."""
    return "\n".join(text_of_part(part) for part in parts if not isinstance(part, ToolResult))


def text_of_part(part: PromptPart) -> str:
    """Return one part of a prompt as text."""
    match part:
        case Text():
            return part.text
        case Link():
            return f"[{part.name}]({part.uri})"
        case Attachment():
            text = part.text.replace("</attachment", "<\\/attachment")  # it cannot end itself
            return f'<attachment uri="{part.uri}">\n{text}\n</attachment>'
        case Media():
            return f"[{part.mime_type}]"


def shortened(part: PromptPart, most_characters: int) -> PromptPart:
    """Return an attachment with its middle cut out if it is longer; other parts as they are."""
    if not isinstance(part, Attachment) or len(part.text) <= most_characters:
        return part
    head, tail = part.text[: most_characters * 7 // 9], part.text[-most_characters * 2 // 9 :]
    kept, total = len(head) + len(tail), len(part.text)
    marker = f"[… {kept:,} of {total:,} characters are shown; read {part.uri} for the rest …]"
    return Attachment(part.uri, f"{head}\n\n{marker}\n\n{tail}")


def arguments_of(call: ToolCall) -> dict[str, JsonValue]:
    """Return a call's arguments.

    Raises:
        ValueError: they are not a JSON object; the text says what they are, for the model.
    """
    try:
        value: JsonValue = json.loads(call.arguments or "{}")
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()  # can be sent back
    except (ValueError, RecursionError) as error:
        problem = f"the arguments are not valid JSON ({error}); make the call again, whole"
        raise ValueError(problem) from None
    if not isinstance(value, dict):
        problem = "the arguments must be a JSON object"
        raise ValueError(problem)
    return value


class Keeper(Protocol):
    """Writes a conversation down. Neither waits nor fails."""

    def append(self, message: Message) -> None:
        """Keep a message behind all others."""
        ...

    def rebuild(self, messages: Sequence[Message]) -> None:
        """Keep these messages in the place of all."""
        ...


class Conversation:
    """Messages in order. Only ever appended to, but for a rebuild that makes it shorter."""

    def __init__(self, messages: Sequence[Message] = (), keeper: Keeper | None = None) -> None:
        """Go on from messages; the keeper has those already."""
        self._messages = list(messages)
        self._keeper = keeper
        self.generation = 0
        """Counts the rebuilds."""

    def append(self, message: Message) -> None:
        """Add a message behind all others."""
        self._messages.append(message)
        if self._keeper is not None:
            self._keeper.append(message)

    def rebuild(self, messages: Sequence[Message]) -> None:
        """Put other messages in the place of all: after it, no provider's cache or seal holds."""
        self._messages = list(messages)
        self.generation += 1
        if self._keeper is not None:
            self._keeper.rebuild(messages)

    def __iter__(self) -> Iterator[Message]:
        return iter(tuple(self._messages))

    def __len__(self) -> int:
        return len(self._messages)

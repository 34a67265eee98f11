"""Conversation types: frozen messages and their parts, and the append-only list that holds them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Protocol

from pydantic import JsonValue

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.excerpt import cut_middle
from acp_server.text.json_repair import load_object


@frozen_dataclass
class Text:
    """Plain or Markdown text."""

    text: str
    is_remark: bool = field(default=False, compare=False, repr=False)
    """Whether it was added to a message of the user, who did not write it."""


@frozen_dataclass
class Link:
    """A resource that the user referred to without sending its text."""

    uri: str
    name: str


@frozen_dataclass
class Attachment:
    """Text that the user attached: a file or part of one, as the editor holds it."""

    uri: str
    text: str


@frozen_dataclass
class Media:
    """An image (`image/png`, `image/jpeg`, …) or document (`application/pdf`), base64-encoded."""

    mime_type: str
    data: str


@frozen_dataclass
class Thinking:
    """Reasoning text, as far as the provider exposes it.

    `signature` is the provider's signature over this block and everything before it. Reasoning
    without a signature is not sent back.
    """

    text: str
    signature: str = ""


@frozen_dataclass
class RedactedThinking:
    """Encrypted reasoning; opaque to us and sent back unchanged."""

    data: str


@frozen_dataclass
class ToolCall:
    """A tool call made by the model; `arguments` is a JSON object as text."""

    id: str
    name: str
    arguments: str


@frozen_dataclass
class ToolResult:
    """The result of a tool call, as the model receives it."""

    call_id: str
    text: str
    is_error: bool = False
    media: tuple[Media, ...] = ()
    saved_to: str = field(default="", compare=False, repr=False)
    """The file that holds the whole text, if this is only part of it."""


@frozen_dataclass
class ProviderBlock:
    """A block produced by the provider: a server-side tool call or text with citations.

    Sent back unchanged.
    """

    block: Mapping[str, JsonValue]
    text: str = ""
    """The part of the block that the user sees."""
    called_id: str = ""
    """The id of the server-side call, if the block is one."""
    answered_id: str = ""
    """The id of the server-side call that the block answers, if it is a result."""


PromptPart = Text | Link | Attachment | Media
UserPart = ToolResult | PromptPart
ReplyPart = Text | Thinking | RedactedThinking | ToolCall | ProviderBlock


class _Referable:
    """Base of objects that a cache may refer to without keeping them."""

    __slots__ = ("__weakref__",)


@frozen_dataclass
class UserMessage(_Referable):
    """A user prompt, or the results of the tool calls in the message before."""

    parts: tuple[UserPart, ...]
    checkpoint: str = field(default="", compare=False, repr=False)
    """Id of the state before it, if it is the prompt of a turn; sent to no model."""


@frozen_dataclass
class AssistantMessage(_Referable):
    """The model's reply in one step; a cancelled step keeps the text streamed so far."""

    parts: tuple[ReplyPart, ...]


Message = UserMessage | AssistantMessage


def prompt_to_text(parts: Sequence[UserPart]) -> str:
    """Return a prompt as one text: links in Markdown, tool results left out."""
    return "\n".join(part_to_text(part) for part in parts if not isinstance(part, ToolResult))


def part_to_text(part: PromptPart) -> str:
    """Return one prompt part as text."""
    match part:
        case Text():
            return part.text
        case Link():
            return f"[{part.name}]({part.uri})"
        case Attachment():
            # Escaped so that a file's own text cannot close the tag and speak as the user.
            text = part.text.replace("</attachment", "<\\/attachment")
            return f'<attachment uri="{part.uri}">\n{text}\n</attachment>'
        case Media():
            return f"[{part.mime_type}]"


def shorten_attachment(part: PromptPart, max_characters: int) -> PromptPart:
    """Return an attachment with its middle cut out if it is too long, other parts unchanged."""
    if not isinstance(part, Attachment):
        return part
    return replace(part, text=cut_middle(part.text, max_characters, part.uri))


def parse_arguments(call: ToolCall) -> dict[str, JsonValue]:
    """Parse a tool call's arguments; slips that leave one reading are mended (`load_object`).

    Raises:
        ValueError: the arguments are not a JSON object; the text explains it to the model.
    """
    try:
        value, _ = load_object(call.arguments or "{}")
        # Python's parser accepts NaN and lone surrogates. Providers do not, and the call is sent
        # back with every later request, so it would break the conversation for good.
        json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except TypeError:
        problem = "the arguments must be a JSON object"
        raise ValueError(problem) from None
    except (ValueError, RecursionError) as error:
        problem = f"the arguments are not valid JSON ({error}); make the call again, whole"
        raise ValueError(problem) from None
    return value


class ConversationJournal(Protocol):
    """Receives every change to a conversation. Neither blocks nor raises."""

    def append(self, message: Message) -> None:
        """Record a new last message."""
        ...

    def rebuild(self, messages: Sequence[Message]) -> None:
        """Record that these messages replace all others."""
        ...


class Conversation:
    """Messages in order. Append-only, except for `rebuild`."""

    def __init__(
        self, messages: Sequence[Message] = (), journal: ConversationJournal | None = None
    ) -> None:
        """Start with messages that the journal (`journal`) already holds.

        Of a stored conversation, they may be decoded by reading them, so that is left to the first
        use.
        """
        self._unread: Sequence[Message] = messages
        self._read: list[Message] | None = None
        self._journal = journal
        self.generation = 0
        """Number of rebuilds so far; caches over the messages compare it."""
        self._call_ids: set[str] = set()
        self._settled: tuple[int, ...] = ()
        self._rebuilt_length = 0

    @property
    def settled_ends(self) -> tuple[int, ...]:
        """How many messages at the beginning the next removal of results will not change.

        For cache breakpoints. Until a message follows the last removal, also the number before it:
        up to there the provider has a cache. Empty if nothing is known.
        """
        return self._settled if len(self) <= self._rebuilt_length else self._settled[-1:]

    @property
    def call_ids(self) -> set[str]:
        """Ids of all calls so far, also of those that a rebuild removed: clients know them."""
        self._messages()
        return self._call_ids

    def append(self, message: Message) -> None:
        """Append a message."""
        self._messages().append(message)
        self._add_call_ids(message)
        # Synchronous, so that memory and journal never differ when a task is cancelled.
        if self._journal is not None:
            self._journal.append(message)

    def rebuild(self, messages: Sequence[Message], settled: int = 0) -> None:
        """Replace all messages; provider caches and reasoning signatures become invalid.

        `settled` is how many messages at the beginning a later removal of results will not change;
        0 if that is unknown.
        """
        before = self._messages()  # also for the ids of their calls
        ends = self._settled[-1:] if settled else ()
        still_settled = tuple(end for end in ends if before[:end] == list(messages[:end]))
        self._settled = (*still_settled, settled) if settled else ()
        self._read = list(messages)
        self._rebuilt_length = len(self._read)
        self.generation += 1
        if self._journal is not None:
            self._journal.rebuild(messages)

    def _messages(self) -> list[Message]:
        if self._read is None:
            self._read = list(self._unread)
            self._unread = ()
            for message in self._read:
                self._add_call_ids(message)
        return self._read

    def _add_call_ids(self, message: Message) -> None:
        self._call_ids |= {part.id for part in message.parts if isinstance(part, ToolCall)}

    def __iter__(self) -> Iterator[Message]:
        # A copy: the list may grow while a caller iterates across an await.
        return iter(tuple(self._messages()))

    def __len__(self) -> int:
        return len(self._unread if self._read is None else self._read)

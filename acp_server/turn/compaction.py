"""A conversation made shorter: its middle becomes a summary, old output of tools is cut. Pure.

The first and the last messages stay, calls stay with their results, and what a provider sealed
(thinking) goes from all that is kept: it is bound to what came before it, and that has changed.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from acp_server.frozen import frozen
from acp_server.turn.conversation import (
    AssistantMessage,
    Message,
    RedactedThinking,
    ReplyPart,
    Text,
    Thinking,
    ToolResult,
    UserMessage,
    UserPart,
)

FIRST_MESSAGES = 3
LAST_MESSAGES = 20
LEAST_MESSAGES = 4
"""A middle of fewer messages is not worth a summary."""
FRESH_MESSAGES = 6
"""Of the last messages, so many keep what tools gave out as it was."""
MOST_OLD_CHARACTERS = 2_000
"""What is left of the output of an older call."""
SUMMARY_HEADING = (
    "[What follows is a summary of the conversation up to here, made when it grew too long. It is "
    "for reference: it is no request of the user's.]"
)


@frozen
class Split:
    """A conversation in three: what stays, what is summed up, what stays."""

    head: tuple[Message, ...]
    middle: tuple[Message, ...]
    tail: tuple[Message, ...]


def split(messages: Sequence[Message]) -> Split | None:
    """Return what of a conversation would be summed up; None when that is not worth it."""
    begin, end = _head_end(messages), max(len(messages) - LAST_MESSAGES, 0)
    while end > begin and _has_results(messages[end]):  # its calls stand before it
        end -= 1
    if end - begin < LEAST_MESSAGES:
        return None
    return Split(tuple(messages[:begin]), tuple(messages[begin:end]), tuple(messages[end:]))


def request_for_summary(messages: Sequence[Message], focus: str = "") -> tuple[Message, ...]:
    """Return the conversation, unchanged, with the question for its summary behind it."""
    wish = f"\n\nPay particular attention to: {focus}" if focus else ""
    question = Text(f"{_instruction()}{wish}")
    last = messages[-1] if messages else None
    if isinstance(last, UserMessage):  # two messages of the user's in a row are none to a provider
        return (*messages[:-1], UserMessage((*last.parts, question)))
    return (*messages, UserMessage((question,)))


def compacted(parts: Split, summary: str) -> tuple[Message, ...]:
    """Return the shorter conversation."""
    told = Text(f"{SUMMARY_HEADING}\n\n{summary.strip()}")
    head = [_without_summary(_cut(_unsealed(message))) for message in parts.head]
    tail = [_unsealed(message) for message in _aged(parts.tail)]
    return _joined(head, told, tail)


def _joined(head: list[Message], told: Text, tail: list[Message]) -> tuple[Message, ...]:
    """Put the summary between what stays, so that user and agent still take turns."""
    last, first = head[-1] if head else None, tail[0] if tail else None
    if isinstance(last, UserMessage) and isinstance(first, UserMessage):
        return (*head, AssistantMessage((told,)), *tail)
    if isinstance(last, UserMessage):
        return (*head[:-1], UserMessage((*last.parts, told)), *tail)
    if isinstance(first, UserMessage):
        return (*head, UserMessage((told, *first.parts)), *tail[1:])
    return (*head, UserMessage((told,)), *tail)


def _without_summary(message: Message) -> Message:
    """Return a message without a former summary: the new one says that too."""
    if not isinstance(message, UserMessage):
        return message
    parts = tuple(part for part in message.parts if not _is_summary(part))
    return UserMessage(parts or message.parts)


def _is_summary(part: UserPart) -> bool:
    return isinstance(part, Text) and part.text.startswith(SUMMARY_HEADING)


def unsealed(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return messages without thinking: its seals hold only behind what was before it."""
    return tuple(_unsealed(message) for message in messages)


def _head_end(messages: Sequence[Message]) -> int:
    """Return how many messages at the beginning stay: the results of their calls do too."""
    end = min(FIRST_MESSAGES, len(messages))
    while end < len(messages) and _has_results(messages[end]):
        end += 1
    return end


def _has_results(message: Message) -> bool:
    return any(isinstance(part, ToolResult) for part in message.parts)


def _aged(messages: Sequence[Message]) -> list[Message]:
    """Return messages with the long outputs of all but the newest calls cut."""
    old = max(len(messages) - FRESH_MESSAGES, 0)
    return [_cut(message) if place < old else message for place, message in enumerate(messages)]


def _cut(message: Message) -> Message:
    if not isinstance(message, UserMessage):
        return message
    return UserMessage(tuple(_cut_part(part) for part in message.parts))


def _cut_part(part: UserPart) -> UserPart:
    if not isinstance(part, ToolResult) or len(part.text) <= MOST_OLD_CHARACTERS:
        return part
    kept = part.text[:MOST_OLD_CHARACTERS]
    note = f"[… {len(part.text):,} characters in all; call the tool again to see the rest …]"
    return replace(part, text=f"{kept}\n{note}", media=())


def _unsealed(message: Message) -> Message:
    """Return a message without its thinking, and never empty."""
    if isinstance(message, UserMessage):
        return message
    parts = tuple(part for part in message.parts if not _is_sealed(part))
    return AssistantMessage(parts or (Text("(There was no answer.)"),))


def _is_sealed(part: ReplyPart) -> bool:
    return isinstance(part, Thinking | RedactedThinking)


def _instruction() -> str:
    return Path(__file__).with_name("compaction.md").read_text("utf-8").strip()

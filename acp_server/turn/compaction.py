"""Pure functions that shorten a conversation: summarize its middle and cut old tool output.

The first and last messages stay, and tool calls stay together with their results. Reasoning is
removed from every message that is kept: a provider's signature covers everything before it, and
that has changed.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from acp_server.startup.fast_dataclass import frozen_dataclass
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

HEAD_MESSAGES = 3
TAIL_MESSAGES = 20
MIN_MIDDLE_MESSAGES = 4
"""A middle with fewer messages is not worth a summary."""
UNCUT_MESSAGES = 6
"""The newest messages whose tool results are kept in full."""
MAX_OLD_RESULT_CHARACTERS = 2_000
"""The longest tool result that is kept in full in older messages."""
SUMMARY_HEADING = (
    "[What follows is a summary of the conversation up to here, made when it grew too long. It is "
    "for reference: it is no request of the user's.]"
)


@frozen_dataclass
class CompactionSplit:
    """A conversation in three parts: kept head, middle to summarize, kept tail."""

    head: tuple[Message, ...]
    middle: tuple[Message, ...]
    tail: tuple[Message, ...]


def split_for_compaction(messages: Sequence[Message]) -> CompactionSplit | None:
    """Split a conversation for compaction; return None if the middle is too short for it."""
    begin, end = _find_head_end(messages), max(len(messages) - TAIL_MESSAGES, 0)
    # Never start the tail with tool results: providers reject a result without its call in front.
    while end > begin and _has_results(messages[end]):
        end -= 1
    if end - begin < MIN_MIDDLE_MESSAGES:
        return None
    return CompactionSplit(
        tuple(messages[:begin]), tuple(messages[begin:end]), tuple(messages[end:])
    )


def build_summary_request(messages: Sequence[Message], focus: str = "") -> tuple[Message, ...]:
    """Return the unchanged conversation followed by the request for its summary.

    The prefix stays byte-identical so that the provider answers it from its cache.
    """
    focus_text = f"\n\nPay particular attention to: {focus}" if focus else ""
    question = Text(f"{_read_instruction()}{focus_text}")
    last = messages[-1] if messages else None
    if isinstance(last, UserMessage):
        # Providers reject two user messages in a row, so the question joins the last one.
        return (*messages[:-1], UserMessage((*last.parts, question)))
    return (*messages, UserMessage((question,)))


def build_compacted_messages(split: CompactionSplit, summary: str) -> tuple[Message, ...]:
    """Return the shortened conversation: head, summary, tail."""
    summary_part = Text(f"{SUMMARY_HEADING}\n\n{summary.strip()}")
    head = [
        _remove_old_summary(_cut_results(_drop_reasoning_parts(message))) for message in split.head
    ]
    tail = [_drop_reasoning_parts(message) for message in _cut_old_results(split.tail)]
    return _join(head, summary_part, tail)


def _join(head: list[Message], summary: Text, tail: list[Message]) -> tuple[Message, ...]:
    # Choose the summary's role such that user and assistant messages still alternate.
    last, first = head[-1] if head else None, tail[0] if tail else None
    if isinstance(last, UserMessage) and isinstance(first, UserMessage):
        return (*head, AssistantMessage((summary,)), *tail)
    if isinstance(last, UserMessage):
        return (*head[:-1], UserMessage((*last.parts, summary)), *tail)
    if isinstance(first, UserMessage):
        return (*head, UserMessage((summary, *first.parts)), *tail[1:])
    return (*head, UserMessage((summary,)), *tail)


def _remove_old_summary(message: Message) -> Message:
    if not isinstance(message, UserMessage):
        return message
    # The new summary covers the old one; keeping both would grow the head with every compaction.
    parts = tuple(part for part in message.parts if not _is_summary(part))
    return UserMessage(parts or message.parts)


def _is_summary(part: UserPart) -> bool:
    return isinstance(part, Text) and part.text.startswith(SUMMARY_HEADING)


def drop_reasoning(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return messages without reasoning: its signatures are valid only after the same prefix."""
    return tuple(_drop_reasoning_parts(message) for message in messages)


def _find_head_end(messages: Sequence[Message]) -> int:
    # Extend the head over the results of its last calls: a call may not lose its results.
    end = min(HEAD_MESSAGES, len(messages))
    while end < len(messages) and _has_results(messages[end]):
        end += 1
    return end


def _has_results(message: Message) -> bool:
    return any(isinstance(part, ToolResult) for part in message.parts)


def _cut_old_results(messages: Sequence[Message]) -> list[Message]:
    old = max(len(messages) - UNCUT_MESSAGES, 0)
    return [
        _cut_results(message) if index < old else message for index, message in enumerate(messages)
    ]


def _cut_results(message: Message) -> Message:
    if not isinstance(message, UserMessage):
        return message
    return UserMessage(tuple(_cut_result(part) for part in message.parts))


def _cut_result(part: UserPart) -> UserPart:
    # A result that is cut loses its media too.
    if not isinstance(part, ToolResult) or len(part.text) <= MAX_OLD_RESULT_CHARACTERS:
        return part
    head = part.text[:MAX_OLD_RESULT_CHARACTERS]
    note = f"[… {len(part.text):,} characters in all; call the tool again to see the rest …]"
    return replace(part, text=f"{head}\n{note}", media=())


def _drop_reasoning_parts(message: Message) -> Message:
    if isinstance(message, UserMessage):
        return message
    parts = tuple(part for part in message.parts if not _is_reasoning(part))
    # Providers reject an assistant message without content.
    return AssistantMessage(parts or (Text("(There was no answer.)"),))


def _is_reasoning(part: ReplyPart) -> bool:
    return isinstance(part, Thinking | RedactedThinking)


def _read_instruction() -> str:
    return Path(__file__).with_name("compaction.md").read_text("utf-8").strip()

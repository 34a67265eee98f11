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
    begin, end = min(HEAD_MESSAGES, len(messages)), max(len(messages) - TAIL_MESSAGES, 0)
    # Extend the head over the results of its last calls: a call may not lose its results.
    while begin < len(messages) and _has_results(messages[begin]):
        begin += 1
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
    instruction = Path(__file__).with_name("compaction.md").read_text("utf-8").strip()
    question = Text(f"{instruction}{focus_text}")
    last = messages[-1] if messages else None
    if isinstance(last, UserMessage):
        # Providers reject two user messages in a row, so the question joins the last one.
        return (*messages[:-1], UserMessage((*last.parts, question)))
    return (*messages, UserMessage((question,)))


def build_compacted_messages(split: CompactionSplit, summary: str) -> tuple[Message, ...]:
    """Return the shortened conversation: head, summary, tail."""
    summary_part = Text(f"{SUMMARY_HEADING}\n\n{summary.strip()}")
    head = [_remove_old_summary(_cut_results(message)) for message in drop_reasoning(split.head)]
    old_count = max(len(split.tail) - UNCUT_MESSAGES, 0)
    old = [_cut_results(message) for message in split.tail[:old_count]]
    tail = drop_reasoning((*old, *split.tail[old_count:]))
    return _join(head, summary_part, tail)


def _join(head: Sequence[Message], summary: Text, tail: Sequence[Message]) -> tuple[Message, ...]:
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
    parts = tuple(
        part
        for part in message.parts
        if not (isinstance(part, Text) and part.text.startswith(SUMMARY_HEADING))
    )
    return UserMessage(parts or message.parts)


def drop_reasoning(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Return messages without reasoning: its signatures are valid only after the same prefix."""
    without_reasoning: list[Message] = []
    for message in messages:
        if isinstance(message, UserMessage):
            without_reasoning.append(message)
            continue
        parts = tuple(
            part for part in message.parts if not isinstance(part, Thinking | RedactedThinking)
        )
        # Providers reject an assistant message without content.
        without_reasoning.append(AssistantMessage(parts or (Text("(There was no answer.)"),)))
    return tuple(without_reasoning)


def _has_results(message: Message) -> bool:
    return any(isinstance(part, ToolResult) for part in message.parts)


def _cut_results(message: Message) -> Message:
    """Return a message with its long tool results cut; a result that is cut loses its media too."""
    if not isinstance(message, UserMessage):
        return message
    parts: list[UserPart] = []
    for part in message.parts:
        if isinstance(part, ToolResult) and len(part.text) > MAX_OLD_RESULT_CHARACTERS:
            head, total = part.text[:MAX_OLD_RESULT_CHARACTERS], len(part.text)
            note = f"[… {total:,} characters in all; call the tool again to see the rest …]"
            parts.append(replace(part, text=f"{head}\n{note}", media=()))
        else:
            parts.append(part)
    return UserMessage(tuple(parts))

"""Pure functions that shorten a conversation, from the mildest to the hardest.

Old tool results become one line each, the newest are cut to their head and tail, a summary replaces
everything but the newest messages, and in the end every text is cut. Tool calls stay together with
their results. Reasoning is removed from every message that is kept: a provider's signature covers
everything before it, and that has changed.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pydantic import JsonValue

from acp_server.text.excerpt import cut_middle
from acp_server.turn.conversation import (
    AssistantMessage,
    Attachment,
    Media,
    Message,
    RedactedThinking,
    ReplyPart,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
    UserPart,
    parse_arguments,
)

CountMessages = Callable[[Sequence[Message]], int]
"""Estimates the tokens of messages."""

MIN_CLEARED_CHARACTERS = 600
"""A shorter result stays: its one-line substitute would save nothing."""
RECALLED_FOR_SUMMARY = "An external memory adds these facts; keep those that matter for the work:"
MAX_STUB_ARGUMENTS, MAX_STUB_ENDING = 200, 100
MAX_OWN_WORDS_CHARACTERS = 6_000
"""About 2,000 tokens of the user's own words survive a summary word for word."""
MAX_ONE_PROMPT_CHARACTERS = 3_000
SUMMARY_HEADING = "[Summary of the work so far (not a new request). Continue with its next step.]"
OWN_WORDS_HEADING = "[The user's messages so far, oldest first, word for word:]"
REMOVED_HEAD = "[Removed to make room:"
"""How the line begins that stands for a removed result."""
UNSUMMARIZED = "(Older messages were removed to make room, and could not be summarized.)"
REMOVED_MEDIA = "[An image or document was removed to make room.]"


def clear_old_results(
    messages: Sequence[Message], keep_from: int, tokens_to_save: int, count: CountMessages
) -> tuple[Message, ...]:
    """Replace long tool results by one line each, oldest first, until enough tokens are saved.

    Messages from the index `keep_from` on stay as they are.
    """
    all_parts = [part for message in messages for part in message.parts]
    calls = {part.id: part for part in all_parts if isinstance(part, ToolCall)}
    cleared = list(messages)
    for index, message in enumerate(messages[:keep_from]):
        if not isinstance(message, UserMessage):
            continue
        parts = list(message.parts)
        # Result by result: one batch may hold half of the window, of which less has to go.
        for place, part in enumerate(parts):
            if tokens_to_save <= 0:
                break
            parts[place] = shorter = _clear(part, calls)
            tokens_to_save -= count((UserMessage((part,)),)) - count((UserMessage((shorter,)),))
        cleared[index] = replace(message, parts=tuple(parts))
    return tuple(cleared)


def cut_results(messages: Sequence[Message], max_characters: int) -> tuple[Message, ...]:
    """Cut every longer tool result to its head and tail."""

    def cut(part: UserPart) -> UserPart:
        if not isinstance(part, ToolResult):
            return part
        return replace(part, text=cut_middle(part.text, max_characters, part.saved_to))

    return tuple(
        replace(message, parts=tuple(map(cut, message.parts)))
        if isinstance(message, UserMessage)
        else message
        for message in messages
    )


def cut_texts(messages: Sequence[Message], max_characters: int) -> tuple[Message, ...]:
    """Cut every longer text, attachment, result and argument, and remove all media."""

    def cut(message: Message) -> Message:
        if isinstance(message, UserMessage):
            parts = tuple(_cut_user_part(part, max_characters) for part in message.parts)
            return replace(message, parts=parts)
        parts = tuple(_cut_reply_part(part, max_characters) for part in message.parts)
        return AssistantMessage(parts)

    return tuple(map(cut, messages))


def index_of_newest(messages: Sequence[Message], max_tokens: int, count: CountMessages) -> int:
    """Return the index from which the newest messages fit `max_tokens`; at least one is left."""
    index, tokens = len(messages), 0
    while index > 0:
        tokens += count((messages[index - 1],))
        if tokens > max_tokens and index < len(messages):
            break
        index -= 1
    return index


def index_of_tail(messages: Sequence[Message], max_tokens: int, count: CountMessages) -> int:
    """Return where the newest messages begin that stay behind a summary.

    They never begin with tool results, whose call would be missing, and contain the last message.
    """
    index = index_of_newest(messages, max_tokens, count)
    while index < len(messages) and _has_results(messages[index]):
        index += 1
    if index < len(messages):
        return index
    # Only the results of the last calls fit. The summary must not part them from their calls.
    index = len(messages) - 1
    while index > 0 and _has_results(messages[index]):
        index -= 1
    return max(index, 0)


def build_summary_question(focus: str = "", recalled: str = "") -> str:
    """Return the request for a summary.

    `focus` names the topics that it must keep, `recalled` is text of an external memory about them.
    """
    focus_text = f"\n\nPay particular attention to: {focus}" if focus else ""
    instruction = Path(__file__).with_name("compaction.md").read_text("utf-8").strip()
    recalled_text = f"\n\n{RECALLED_FOR_SUMMARY}\n{recalled}" if recalled else ""
    return f"{instruction}{focus_text}{recalled_text}"


def append_question(messages: Sequence[Message], question: str) -> tuple[Message, ...]:
    """Return the conversation followed by a question.

    The prefix stays byte-identical so that the provider answers it from its cache.
    """
    last = messages[-1] if messages else None
    if isinstance(last, UserMessage):
        # Providers reject two user messages in a row, so the question joins the last one.
        return (*messages[:-1], UserMessage((*last.parts, Text(question))))
    return (*messages, UserMessage((Text(question),)))


def build_compacted_messages(
    messages: Sequence[Message], tail_from: int, summary: str, carried: Sequence[Message] = ()
) -> tuple[Message, ...]:
    """Return the shortened conversation: the user's words, the summary, and the newest messages.

    `carried` is an exchange that restates what the tools keep in the conversation.
    """
    text = f"{SUMMARY_HEADING}\n\n{summary.strip()}"
    parts: list[UserPart] = [*_own_words(messages[:tail_from]), Text(text, is_remark=True)]
    kept = [*carried, *drop_reasoning(messages[tail_from:])]
    return _join_user_messages((UserMessage(tuple(parts)), *kept))


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


def _own_words(messages: Sequence[Message]) -> Sequence[Text]:
    """Return the user's own words: the first prompt, and of the others the newest that fit."""
    words = [
        cut_middle(part.text, MAX_ONE_PROMPT_CHARACTERS)
        for message in messages
        if isinstance(message, UserMessage)
        for part in message.parts
        if isinstance(part, Text) and not part.is_remark
    ]
    if not words:
        return ()
    left, newest = MAX_OWN_WORDS_CHARACTERS - len(words[0]), list[str]()
    for text in reversed(words[1:]):
        left -= len(text)
        if left < 0:
            break
        newest.append(text)
    heading = Text(OWN_WORDS_HEADING, is_remark=True)
    return (heading, *map(Text, (words[0], *reversed(newest))))


def _join_user_messages(messages: Sequence[Message]) -> tuple[Message, ...]:
    """Join neighboring messages of the user: providers want the roles to alternate."""
    joined: list[Message] = []
    for message in messages:
        last = joined[-1] if joined else None
        if isinstance(last, UserMessage) and isinstance(message, UserMessage):
            # Results come first in a message, or a provider does not find them.
            parts = sorted(
                (*last.parts, *message.parts), key=lambda part: not isinstance(part, ToolResult)
            )
            joined[-1] = UserMessage(tuple(parts))
        else:
            joined.append(message)
    return tuple(joined)


def _clear(part: UserPart, calls: Mapping[str, ToolCall]) -> UserPart:
    """Return a stub for a long tool result or a medium, another part unchanged."""
    if isinstance(part, Media):
        return Text(REMOVED_MEDIA, is_remark=True)
    if not isinstance(part, ToolResult):
        return part
    if len(part.text) < MIN_CLEARED_CHARACTERS and not part.media:
        return part
    call = calls.get(part.call_id)
    name = "the call" if call is None else f"{call.name} {call.arguments}"
    ending = part.text.rstrip().rpartition("\n")[2][-MAX_STUB_ENDING:].strip()
    again = f"it is in {part.saved_to}" if part.saved_to else "make the call again if you need it"
    stub = (
        f"{REMOVED_HEAD} {len(part.text):,} characters that "
        f"{cut_middle(name, MAX_STUB_ARGUMENTS)} returned, ending with {ending!r}; {again}]"
    )
    return replace(part, text=stub, media=())


def _cut_user_part(part: UserPart, max_characters: int) -> UserPart:
    match part:
        case Text():
            return replace(part, text=cut_middle(part.text, max_characters))
        case Attachment():
            return replace(part, text=cut_middle(part.text, max_characters, part.uri))
        case ToolResult():
            text = cut_middle(part.text, max_characters, part.saved_to)
            return replace(part, text=text, media=())
        case Media():
            return Text(REMOVED_MEDIA, is_remark=True)
        case _:
            return part


def _cut_reply_part(part: ReplyPart, max_characters: int) -> ReplyPart:
    if isinstance(part, Text):
        return replace(part, text=cut_middle(part.text, max_characters))
    if isinstance(part, ToolCall) and len(part.arguments) > max_characters:
        try:
            arguments = parse_arguments(part)
        except ValueError:
            return replace(part, arguments="{}")  # sent as that anyway: no provider takes bad JSON
        shorter = {key: _cut_value(value, max_characters) for key, value in arguments.items()}
        return replace(part, arguments=json.dumps(shorter, ensure_ascii=False))
    return part


def _cut_value(value: JsonValue, max_characters: int) -> JsonValue:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return value if len(text) <= max_characters else cut_middle(text, max_characters)


def _has_results(message: Message) -> bool:
    return any(isinstance(part, ToolResult) for part in message.parts)

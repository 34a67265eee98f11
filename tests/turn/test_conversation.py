"""The conversation: append-only, and what a prompt is as text."""

from collections.abc import Sequence

import pytest

from acp_server.turn.conversation import (
    AssistantMessage,
    Conversation,
    Link,
    PromptPart,
    Text,
    UserMessage,
    prompt_to_text,
)

FIRST = UserMessage((Text("one"),))
SECOND = AssistantMessage((Text("two"),))


def test_messages_keep_their_order() -> None:
    conversation = Conversation()
    conversation.append(FIRST)
    conversation.append(SECOND)
    assert (list(conversation), len(conversation)) == ([FIRST, SECOND], 2)


def test_reading_a_conversation_is_not_affected_by_concurrent_additions() -> None:
    conversation = Conversation()
    conversation.append(FIRST)
    reading = iter(conversation)
    conversation.append(SECOND)
    assert list(reading) == [FIRST]


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ((), ""),
        ((Text("hi"),), "hi"),
        ((Text("a"), Text("b")), "a\nb"),
        ((Link("file:///a%20b", "a b"),), "[a b](file:///a%20b)"),
        ((Text("see"), Link("file:///x", "x"), Text("")), "see\n[x](file:///x)\n"),
    ],
)
def test_a_prompt_as_text_has_its_parts_on_separate_lines(
    parts: Sequence[PromptPart], text: str
) -> None:
    assert prompt_to_text(parts) == text


def test_a_removal_of_results_says_which_messages_the_next_one_leaves() -> None:
    messages = [UserMessage((Text(str(number)),)) for number in range(6)]
    conversation = Conversation(messages)
    assert conversation.settled_ends == ()
    conversation.rebuild(messages, settled=2)
    assert conversation.settled_ends == (2,)
    conversation.rebuild(messages, settled=4)
    assert conversation.settled_ends == (2, 4)
    conversation.append(messages[0])
    assert conversation.settled_ends == (4,)
    conversation.rebuild(messages[1:], settled=3)
    assert conversation.settled_ends == (3,)
    conversation.rebuild(messages)
    assert conversation.settled_ends == ()

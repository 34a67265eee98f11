"""Values derived from messages: once for each message, and no longer than it exists."""

import gc

import pytest

from acp_server.models.message_cache import MessageCache
from acp_server.turn.conversation import AssistantMessage, Message, Text, UserMessage


class CountingDerivation:
    """Derives a text from a message, and counts how often."""

    def __init__(self) -> None:
        self.derived: list[Message] = []

    def __call__(self, message: Message) -> str:
        self.derived.append(message)
        return f"value {len(self.derived)}"


def test_a_value_is_derived_once_for_each_message() -> None:
    counter = CountingDerivation()
    cache = MessageCache(counter)
    one, reply = UserMessage((Text("a"),)), AssistantMessage((Text("b"),))
    assert [cache.get(each) for each in (one, reply, one)] == ["value 1", "value 2", "value 1"]
    assert counter.derived == [one, reply]


def test_equal_messages_have_values_of_their_own() -> None:
    """Comparing them would read their texts; parts that are not compared may differ."""
    cache = MessageCache(CountingDerivation())
    one, same = UserMessage((Text("a"),)), UserMessage((Text("a", is_remark=True),))
    assert one == same
    assert (cache.get(one), cache.get(same)) == ("value 1", "value 2")


def test_a_value_is_forgotten_with_its_message() -> None:
    cache = MessageCache[str](lambda _: "value")
    kept = UserMessage((Text("kept"),))
    for number in range(1_000):
        cache.get(UserMessage((Text(str(number)),)))
        cache.get(kept)
    gc.collect()
    assert len(cache) == 1


def test_what_fails_to_be_derived_is_tried_again() -> None:
    failures = [ValueError("no")]

    def derive(message: Message) -> str:
        del message
        if failures:
            raise failures.pop()
        return "value"

    cache, message = MessageCache(derive), UserMessage(())
    with pytest.raises(ValueError, match="no"):
        cache.get(message)
    assert cache.get(message) == "value"

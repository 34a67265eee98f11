"""Stored messages that stay encoded until a conversation needs them."""

from collections.abc import Iterator, Sequence
from typing import overload

import pytest

from acp_server.history import codec, packed_messages
from acp_server.history.codec import encode
from acp_server.history.packed_messages import PackedMessages
from acp_server.history.rows import Column, text_to_column
from acp_server.models.fixed_catalog import FixedCatalog
from acp_server.session.builder import build_session
from acp_server.session.ports.null_archive import NullJournal
from acp_server.session.services import SessionSnapshot
from acp_server.session.workspace import SessionWorkspace
from acp_server.turn.conversation import (
    AssistantMessage,
    Conversation,
    Message,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from acp_server.turn.ports import Model
from tests.history.samples import make_facts
from tests.support.server_parts import MODEL_ID, make_services

MESSAGES: tuple[Message, ...] = (
    UserMessage((Text("a lone \ud800 surrogate"),), "checkpoint"),
    AssistantMessage((Text("lines\nof\r\ntext"), ToolCall("c1", "read", '{"a": "\\n"}'))),
    UserMessage((ToolResult("c1", "x" * 500, is_error=True),)),
    AssistantMessage((Text("done"),)),
)


def bodies(messages: Sequence[Message]) -> list[Column]:
    return [text_to_column(encode(message)) for message in messages]


@pytest.mark.parametrize("block_bytes", [1, 300, 1 << 20])
def test_messages_come_back_as_they_were(monkeypatch: pytest.MonkeyPatch, block_bytes: int) -> None:
    monkeypatch.setattr(packed_messages, "BLOCK_BYTES", block_bytes)
    packed = PackedMessages(bodies(MESSAGES))
    assert len(packed) == 4
    assert packed[-1] == MESSAGES[-1]
    assert tuple(packed) == MESSAGES
    assert packed[1:3] == MESSAGES[1:3]


def test_without_the_fast_parser_messages_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_text: str, **_options: object) -> object:
        raise ValueError("no fast parser")

    monkeypatch.setattr(codec, "from_json", fail)
    assert tuple(PackedMessages(bodies(MESSAGES))) == MESSAGES


def test_a_message_of_a_newer_version_is_left_out_and_not_counted() -> None:
    found = PackedMessages(['{"type":"Gesture","parts":[]}', *bodies(MESSAGES[1:])])
    assert len(found) == 3
    assert tuple(found) == MESSAGES[1:]


class UnreadMessages(Sequence[Message]):
    """Messages that nothing may read but their number and the last one."""

    def __len__(self) -> int:
        return len(MESSAGES)

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Message]: ...
    def __getitem__(self, index: int | slice) -> Message | Sequence[Message]:
        raise AssertionError("read")

    def __iter__(self) -> Iterator[Message]:
        raise AssertionError("read")


def no_model() -> Model:
    raise AssertionError("no request is made")


def test_a_session_is_built_without_reading_its_messages() -> None:
    facts = make_facts(cwd="/")
    facts.usage.context_tokens = 1_000
    catalog = FixedCatalog(MODEL_ID, MODEL_ID, no_model)
    snapshot = SessionSnapshot(facts, UnreadMessages(), NullJournal())
    session = build_session(SessionWorkspace(facts.cwd), make_services(catalog), snapshot)
    assert len(session.context.conversation) == len(MESSAGES)
    with pytest.raises(AssertionError, match="read"):
        tuple(session.context.conversation)


def test_a_conversation_knows_the_calls_of_messages_that_it_has_not_read() -> None:
    conversation = Conversation(PackedMessages(bodies(MESSAGES)))
    assert conversation.call_ids == {"c1"}
    again = Conversation(PackedMessages(bodies(MESSAGES)))
    again.rebuild(())
    assert again.call_ids == {"c1"}
    assert len(again) == 0

from collections.abc import Callable
from typing import cast, get_args

import pytest
from pydantic import JsonValue

from acp_server.headless.updates import UnknownUpdate, Update
from acp_server.headless.view import UpdateView, show_update
from acp_server.protocol.updates import SessionNotification, SessionUpdate

TEXT: JsonValue = {"type": "text", "text": "hi"}
KINDS: dict[str, tuple[str, dict[str, JsonValue]]] = {
    "user_message_chunk": ("user_message", {"content": TEXT}),
    "agent_message_chunk": ("message", {"content": TEXT}),
    "agent_thought_chunk": ("thought", {"content": TEXT}),
    "tool_call": ("tool_call", {"toolCallId": "call", "title": "Read"}),
    "tool_call_update": ("tool_call_update", {"toolCallId": "call"}),
    "plan": ("plan", {"entries": []}),
    "available_commands_update": ("commands", {"availableCommands": []}),
    "current_mode_update": ("mode", {"currentModeId": "plan"}),
    "config_option_update": ("options", {"configOptions": []}),
    "session_info_update": ("session_info", {"title": "A title"}),
    "usage_update": ("usage", {"used": 1, "size": 2}),
    "notice": ("notice", {"severity": "info", "title": "Hello"}),
    "compaction_update": ("compaction", {"compactionId": "c", "status": "failed"}),
    "compaction_summary_chunk": ("compaction_summary", {"compactionId": "c", "content": TEXT}),
}


class Witness:
    """A view that notes which of its methods was called."""

    def __init__(self) -> None:
        self.expand_calls: list[tuple[str, Update]] = []

    def __getattr__(self, name: str) -> Callable[[Update], None]:
        return lambda update: self.expand_calls.append((name, update))


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_of_update_is_dispatched_to_its_own_method(kind: str) -> None:
    method, fields = KINDS[kind]
    update = {"sessionUpdate": kind, **fields}
    notification = SessionNotification.from_wire({"sessionId": "one", "update": update})
    witness = Witness()
    show_update(cast("UpdateView", witness), notification.update)
    assert witness.expand_calls == [(method, notification.update)]


def test_unknown_updates_are_dispatched_to_their_own_method() -> None:
    witness = Witness()
    show_update(cast("UpdateView", witness), UnknownUpdate(None))
    assert witness.expand_calls == [("unknown", UnknownUpdate(None))]


def test_the_test_table_covers_every_kind_of_update() -> None:
    union, _ = get_args(SessionUpdate)
    assert len(KINDS) == len(get_args(union))

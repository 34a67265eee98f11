"""What every wire model does, shown on a few of them."""

import json

import pytest
from pydantic import JsonValue, ValidationError
from pydantic_core import MISSING

from acp_server.protocol.content import Annotations
from acp_server.protocol.initialize_request import FileSystemCapabilities
from acp_server.protocol.prompt_turn import CancelNotification
from acp_server.protocol.sessions import ListSessionsRequest, ResumeSessionRequest
from acp_server.protocol.tool_calls import Diff, ToolCallUpdate
from acp_server.protocol.updates import (
    CompactionUpdate,
    Cost,
    SessionInfoUpdate,
    ToolCallProgress,
)

DEEP_JSON: JsonValue = {
    "nothing": None,
    "list": [None, {"nothing": None}],
    "empty": {},
    "number": 1.5,
}


def test_json_is_compact_and_in_utf8() -> None:
    message = CancelNotification(session_id="Grüße\n\u2028")

    assert message.to_json() == '{"sessionId":"Grüße\\n\u2028"}'.encode()


def test_both_serializers_agree() -> None:
    message = ToolCallUpdate(tool_call_id="1", content=(Diff(path="/a", new_text="b"),))

    assert message.to_wire() == json.loads(message.to_json())


def test_absent_values_are_not_written() -> None:
    assert ToolCallUpdate(tool_call_id="1").to_wire() == {"toolCallId": "1"}
    assert ListSessionsRequest().to_wire() == {}


def test_empty_arrays_are_written_where_they_replace_others() -> None:
    update = ToolCallUpdate(tool_call_id="1", content=(), locations=())

    assert update.to_wire() == {"toolCallId": "1", "content": [], "locations": []}


def test_null_survives_inside_foreign_json() -> None:
    update = ToolCallUpdate(
        tool_call_id="1", raw_input=DEEP_JSON, raw_output=[None], meta={"theirs": DEEP_JSON}
    )

    assert json.loads(update.to_json()) == {
        "toolCallId": "1",
        "rawInput": DEEP_JSON,
        "rawOutput": [None],
        "_meta": {"theirs": DEEP_JSON},
    }
    assert ToolCallUpdate.from_wire(update.to_wire()) == update


def test_a_diff_always_includes_the_old_text() -> None:
    assert Diff(path="/new", new_text="text").to_json() == (
        b'{"type":"diff","path":"/new","oldText":null,"newText":"text"}'
    )


@pytest.mark.parametrize(
    ("update", "written"),
    [
        (SessionInfoUpdate(), {}),
        (SessionInfoUpdate(title=None), {"title": None}),
        (SessionInfoUpdate(title="Title"), {"title": "Title"}),
        (SessionInfoUpdate(title=MISSING, updated_at=None), {"updatedAt": None}),
    ],
    ids=["kept", "cleared", "replaced", "one cleared"],
)
def test_session_info_fields_are_kept_cleared_or_replaced(
    update: SessionInfoUpdate, written: dict[str, str | None]
) -> None:
    assert update.to_wire() == {"sessionUpdate": "session_info_update", **written}
    assert json.loads(update.to_json()) == update.to_wire()
    assert SessionInfoUpdate.from_wire(update.to_wire()) == update


def test_every_compaction_field_can_be_cleared() -> None:
    update = CompactionUpdate(
        compaction_id="1", status="completed", summary=None, error=None, meta=None
    )

    assert update.to_wire() == {
        "sessionUpdate": "compaction_update",
        "compactionId": "1",
        "status": "completed",
        "summary": None,
        "error": None,
        "_meta": None,
    }
    assert CompactionUpdate(compaction_id="1", status="failed").to_wire() == {
        "sessionUpdate": "compaction_update",
        "compactionId": "1",
        "status": "failed",
    }


def test_unknown_keys_are_neither_read_nor_written() -> None:
    message = CancelNotification.from_wire({"sessionId": "1", "more": 1, "jsonrpc": "2.0"})

    assert message == CancelNotification(session_id="1")
    assert message.to_wire() == {"sessionId": "1"}


def test_only_wire_names_are_parsed() -> None:
    read = ToolCallUpdate.from_wire({"toolCallId": "1", "raw_input": 1, "meta": {"a": 1}})

    assert read == ToolCallUpdate(tool_call_id="1")
    with pytest.raises(ValidationError):
        CancelNotification.from_wire({"session_id": "1"})


def test_a_tool_call_progress_is_read_as_a_bare_update() -> None:
    """A call's progress may stand where a bare update belongs, as when permission is asked."""
    progress = ToolCallProgress(tool_call_id="1", title="Edit")
    assert ToolCallUpdate.from_wire(progress.to_wire()).to_wire() == {
        "toolCallId": "1",
        "title": "Edit",
    }


def test_models_are_immutable() -> None:
    message = CancelNotification(session_id="1")

    with pytest.raises(ValidationError):
        message.session_id = "2"


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_non_finite_numbers_are_rejected(number: float) -> None:
    with pytest.raises(ValidationError):
        Cost(amount=number, currency="USD")
    assert Annotations(priority=number) == Annotations()


def test_non_finite_numbers_become_null_in_foreign_json() -> None:
    assert ToolCallUpdate(tool_call_id="1", raw_output=[float("nan")]).to_json() == (
        b'{"toolCallId":"1","rawOutput":[null]}'
    )


def test_surrogate_halves_are_joined_or_replaced() -> None:
    update = ToolCallUpdate(
        tool_call_id="1",
        title="cut \ud83d here",
        raw_output={"name \udcff": ["\ud83d\ude00", None, float("nan")]},
    )

    assert (
        update.to_json()
        == (
            '{"toolCallId":"1","title":"cut \ufffd here",'
            '"rawOutput":{"name \ufffd":["\U0001f600",null,null]}}'
        ).encode()
    )


def test_foreign_json_may_be_nested_deeply() -> None:
    nested: JsonValue = None
    for _ in range(600):
        nested = [nested]
    update = ToolCallUpdate(tool_call_id="1", raw_input=nested)

    assert update.to_wire() == {"toolCallId": "1", "rawInput": nested}


def test_defaults_are_not_shared() -> None:
    first = ResumeSessionRequest(session_id="1", cwd="/")
    second = ResumeSessionRequest.from_wire({"sessionId": "1", "cwd": "/", "mcpServers": 7})

    assert first == second == ResumeSessionRequest(session_id="1", cwd="/", mcp_servers=())
    assert FileSystemCapabilities().to_wire() == {"readTextFile": False, "writeTextFile": False}

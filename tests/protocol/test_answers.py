"""What clients answer when the agent asks: what is forgiven, and what is an error."""

import pytest
from pydantic import JsonValue, ValidationError

from acp_server.protocol.elicitation import CreateElicitationResponse
from acp_server.protocol.files import ReadTextFileResponse, WriteTextFileResponse
from acp_server.protocol.terminals import (
    TerminalExitStatus,
    TerminalOutputResponse,
    WaitForTerminalExitResponse,
)
from acp_server.protocol.tool_calls import (
    CancelledPermissionOutcome,
    RequestPermissionResponse,
    SelectedPermissionOutcome,
)
from tests.support.case_table import each_case


def test_a_permission_response_is_a_selected_option_or_cancelled() -> None:
    selected = RequestPermissionResponse.from_wire(
        {"outcome": {"outcome": "selected", "optionId": "yes"}}
    )
    cancelled = RequestPermissionResponse.from_wire({"outcome": {"outcome": "cancelled"}})

    assert selected == RequestPermissionResponse(outcome=SelectedPermissionOutcome(option_id="yes"))
    assert cancelled == RequestPermissionResponse(outcome=CancelledPermissionOutcome())


@each_case(
    "outcome",
    [
        None,
        "selected",
        "cancelled",
        {},
        {"optionId": "yes"},
        {"outcome": "selected"},
        {"outcome": "selected", "optionId": None},
        {"outcome": "allowed", "optionId": "yes"},
    ],
)
def test_other_permission_outcomes_are_rejected(outcome: JsonValue) -> None:
    with pytest.raises(ValidationError):
        RequestPermissionResponse.from_wire({"outcome": outcome})


@pytest.mark.parametrize("wrong", [None, 1, True, [], {}])
def test_a_read_file_response_has_text(wrong: JsonValue) -> None:
    assert ReadTextFileResponse.from_wire({"content": ""}) == ReadTextFileResponse(content="")
    with pytest.raises(ValidationError):
        ReadTextFileResponse.from_wire({"content": wrong})


def test_an_empty_response_accepts_any_fields() -> None:
    assert WriteTextFileResponse.from_wire({"bytes": 3}) == WriteTextFileResponse()


@pytest.mark.parametrize(
    ("exit_status", "read"),
    [
        (None, None),
        (0, None),
        ({"exitCode": 0}, TerminalExitStatus(exit_code=0)),
        ({"exitCode": 1 << 32, "signal": "SIGTERM"}, TerminalExitStatus(signal="SIGTERM")),
        ({"exitCode": -1, "signal": 9}, TerminalExitStatus()),
    ],
)
def test_a_terminal_exit_is_parsed_when_present(
    exit_status: JsonValue, read: TerminalExitStatus | None
) -> None:
    answer: JsonValue = {"output": "ok", "truncated": False, "exitStatus": exit_status}

    assert TerminalOutputResponse.from_wire(answer) == TerminalOutputResponse(
        output="ok", truncated=False, exit_status=read
    )


def test_a_terminal_exit_response_may_omit_its_status() -> None:
    assert WaitForTerminalExitResponse.from_wire({}) == WaitForTerminalExitResponse()


def test_an_accepted_form_has_content() -> None:
    filled: dict[str, JsonValue] = {
        "name": "Ada",
        "age": 36,
        "height": 1.7,
        "whole": 2.0,
        "member": True,
        "tags": ["a", "b"],
    }

    read = CreateElicitationResponse.from_wire({"action": "accept", "content": filled})

    assert read.to_wire() == {"action": "accept", "content": filled}
    assert read.content is not None
    assert {name: type(value) for name, value in read.content.items()} == {
        "name": str,
        "age": int,
        "height": float,
        "whole": float,
        "member": bool,
        "tags": tuple,
    }


@pytest.mark.parametrize("content", [7, "text", [], {"a": None}, {"a": {}}, {"a": [1]}])
def test_a_form_with_invalid_content_is_rejected(content: JsonValue) -> None:
    with pytest.raises(ValidationError):
        CreateElicitationResponse.from_wire({"action": "accept", "content": content})


@pytest.mark.parametrize("action", ["decline", "cancel", "_snooze", "later"])
def test_a_response_other_than_accept_has_no_content(action: str) -> None:
    read = CreateElicitationResponse.from_wire({"action": action, "content": 7})

    assert read == CreateElicitationResponse(action=action)


@pytest.mark.parametrize("action", [None, 1, [], {}])
def test_a_form_response_requires_an_action(action: JsonValue) -> None:
    with pytest.raises(ValidationError):
        CreateElicitationResponse.from_wire({"action": action})

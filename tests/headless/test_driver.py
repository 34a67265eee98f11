from pathlib import Path

import anyio
import pytest
from pydantic import JsonValue

from acp_server.headless.agent import ClientProfile
from acp_server.headless.errors import (
    AgentDisconnectedError,
    AgentResponseError,
    InvalidResultError,
    UnsupportedVersionError,
)
from acp_server.headless.updates import UnknownUpdate, Update
from acp_server.headless.wire import WireLine
from acp_server.jsonrpc.dispatching import Job, Reply
from acp_server.jsonrpc.peer import InboundRequest
from acp_server.protocol.tool_calls import (
    RequestPermissionOutcome,
    RequestPermissionRequest,
    SelectedPermissionOutcome,
)
from acp_server.protocol.updates import AgentMessageChunk, AvailableCommandsUpdate
from tests.headless.driven_agents import (
    drive_memory_server,
    drive_peer,
    make_fixed_handler,
    make_hanging_handler,
)

ONE_TWO_THREE = "prompt: *\npace: 1ms\nsay: one two three"
ENDLESS = "prompt: *\npace: 1ms\nsay: well\npause: 60s\nsay: too late"


def text_of(updates: list[Update]) -> str:
    chunks = [each for each in updates if isinstance(each, AgentMessageChunk)]
    return "".join(chunk.content.text for chunk in chunks if chunk.content.type == "text")


async def test_all_updates_have_been_shown_when_a_prompt_is_answered(tmp_path: Path) -> None:
    shown: list[Update] = []

    async def show_slowly(session_id: str, update: Update) -> None:
        del session_id
        await anyio.sleep(0.005)
        shown.append(update)

    async with drive_memory_server(tmp_path, ONE_TWO_THREE, ClientProfile(show_slowly)) as agent:
        hello = await agent.initialize()
        session = await agent.new_session(tmp_path)
        result = await agent.prompt(session.session_id, "go")
        assert hello.protocol_version == 1
        assert result.stop_reason == "end_turn"
        assert [type(each) for each in shown].count(AvailableCommandsUpdate) == 1
        assert text_of(shown) == "one two three"


async def test_a_turn_can_be_cancelled_from_its_update_callback(tmp_path: Path) -> None:
    async def cancel_at_once(session_id: str, update: Update) -> None:
        if isinstance(update, AgentMessageChunk):
            await agent.cancel(session_id)

    async with drive_memory_server(tmp_path, ENDLESS, ClientProfile(cancel_at_once)) as agent:
        await agent.initialize()
        session = await agent.new_session(tmp_path)
        first = await agent.prompt(session.session_id, "go")
        assert first.stop_reason == "cancelled"


async def test_the_callback_may_send_requests_to_the_agent(tmp_path: Path) -> None:
    closed = anyio.Event()

    async def close_the_session(session_id: str, update: Update) -> None:
        if isinstance(update, AvailableCommandsUpdate):
            await agent.close_session(session_id)
            closed.set()

    async with drive_memory_server(tmp_path, ENDLESS, ClientProfile(close_the_session)) as agent:
        await agent.initialize()
        await agent.new_session(tmp_path)
        await closed.wait()


async def test_an_error_response_keeps_its_code_message_and_data(tmp_path: Path) -> None:
    async with drive_memory_server(tmp_path, ONE_TWO_THREE, ClientProfile()) as agent:
        await agent.initialize()
        with pytest.raises(AgentResponseError, match="no session 'nobody'") as caught:
            await agent.prompt("nobody", "go")
    assert (caught.value.method, caught.value.code) == ("session/prompt", -32002)
    assert isinstance(caught.value.data, dict)


async def test_an_agent_with_another_protocol_version_is_refused() -> None:
    async with drive_peer({"initialize": make_fixed_handler({"protocolVersion": 2})}) as partner:
        with pytest.raises(UnsupportedVersionError) as caught:
            await partner.agent.initialize()
    assert caught.value.version == 2


async def test_an_unparsable_response_is_kept_unchanged() -> None:
    odd: JsonValue = {"stopReason": "bored"}
    async with drive_peer({"session/prompt": make_fixed_handler(odd)}) as partner:
        with pytest.raises(InvalidResultError) as caught:
            await partner.agent.prompt("one", "go")
    assert caught.value.result == odd


async def test_no_request_stays_pending_when_the_agent_ends_its_stream() -> None:
    asked = anyio.Event()
    async with drive_peer({"session/prompt": make_hanging_handler(asked)}) as partner:

        async def leave() -> None:
            await asked.wait()
            partner.close_stream()

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(leave)
            with pytest.raises(
                AgentDisconnectedError, match="exited before it answered session/prompt"
            ):
                await partner.agent.prompt("one", "go")
        await partner.agent.closed.wait()
        assert partner.agent.has_disconnected


async def test_an_unknown_update_is_shown_unchanged() -> None:
    shown: list[tuple[str, Update]] = []
    arrived = anyio.Event()

    async def show(session_id: str, update: Update) -> None:
        shown.append((session_id, update))
        arrived.set()

    params: JsonValue = {"sessionId": "one", "update": {"sessionUpdate": "_new", "words": 3}}
    async with drive_peer({}, ClientProfile(show)) as partner:
        await partner.peer.notify("session/update", params)
        await arrived.wait()
    assert shown == [("one", UnknownUpdate(params))]
    assert UnknownUpdate(params).kind == "_new"


QUESTION: dict[str, JsonValue] = {
    "sessionId": "one",
    "toolCall": {"toolCallId": "call"},
    "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}],
}
ANNOUNCED: JsonValue = {
    "sessionId": "one",
    "update": {"sessionUpdate": "tool_call", "toolCallId": "call", "title": "Write"},
}


async def test_a_permission_request_is_shown_after_the_updates_before_it() -> None:
    order: list[str] = []

    async def show_slowly(session_id: str, update: Update) -> None:
        del session_id, update
        await anyio.sleep(0.01)
        order.append("shown")

    async def agree(request: RequestPermissionRequest) -> RequestPermissionOutcome:
        order.append(f"asked for {request.tool_call.tool_call_id}")
        return SelectedPermissionOutcome(option_id="yes")

    async with drive_peer({}, ClientProfile(show_slowly, agree)) as partner:
        await partner.peer.notify("session/update", ANNOUNCED)
        result = await partner.peer.request("session/request_permission", QUESTION)
    assert order == ["shown", "asked for call"]
    assert result == {"outcome": {"outcome": "selected", "optionId": "yes"}}


async def test_permission_is_denied_by_default() -> None:
    async with drive_peer({}) as partner:
        result = await partner.peer.request("session/request_permission", QUESTION)
    assert result == {"outcome": {"outcome": "cancelled"}}


async def test_cancelling_a_session_answers_only_its_own_open_permission_requests() -> None:
    asked: list[str] = []
    both_asked = anyio.Event()
    may_answer = anyio.Event()
    outcomes: dict[str, JsonValue] = {}

    async def wait(request: RequestPermissionRequest) -> RequestPermissionOutcome:
        asked.append(request.session_id)
        if len(asked) == 2:
            both_asked.set()
        await may_answer.wait()
        return SelectedPermissionOutcome(option_id="yes")

    async with drive_peer({}, ClientProfile(answer_permission=wait)) as partner:

        async def ask(session_id: str) -> None:
            question: JsonValue = {**QUESTION, "sessionId": session_id}
            outcomes[session_id] = await partner.peer.request(
                "session/request_permission", question
            )

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask, "one")
            tasks.start_soon(ask, "two")
            await both_asked.wait()
            await partner.agent.cancel("one")
            may_answer.set()
    assert outcomes == {
        "one": {"outcome": {"outcome": "cancelled"}},
        "two": {"outcome": {"outcome": "selected", "optionId": "yes"}},
    }


async def test_the_agent_may_use_other_client_methods_besides_permission() -> None:
    def read_file(params: JsonValue, call: InboundRequest) -> Job:
        del params, call

        async def run() -> Reply:
            return Reply({"content": "text"})

        return run

    editor = ClientProfile(request_handlers={"fs/read_text_file": read_file})
    async with drive_peer({}, editor) as partner:
        assert await partner.peer.request("fs/read_text_file", {}) == {"content": "text"}


MEANWHILE = (b"available_commands_update", b"session_info_update")
"""What is told when it is known, in whatever order."""


async def test_the_wire_log_contains_every_line_and_its_sender(tmp_path: Path) -> None:
    record: list[WireLine] = []
    async with drive_memory_server(
        tmp_path, ONE_TWO_THREE, ClientProfile(), record.append
    ) as agent:
        await agent.initialize()
        session = await agent.new_session(tmp_path)
        await agent.prompt(session.session_id, "go")
    messages = [line for line in record if not any(word in line.line for word in MEANWHILE)]
    assert "".join(line.sender[0] for line in messages) == "ca" + "ca" + "c" + "aaaa"
    assert b"stopReason" in record[-1].line
    assert not any(line.line.endswith(b"\n") for line in record)


async def test_a_failing_wire_log_ends_the_conversation_with_its_own_error(tmp_path: Path) -> None:
    lines: list[WireLine] = []

    def fail_at_the_second(line: WireLine) -> None:
        lines.append(line)
        if len(lines) == 2:
            raise BrokenPipeError("nobody reads")

    async def converse() -> None:
        async with drive_memory_server(tmp_path, "", ClientProfile(), fail_at_the_second) as agent:
            await agent.initialize()

    with pytest.raises(BrokenPipeError, match="nobody reads"):
        await converse()
    assert [line.sender for line in lines] == ["client", "agent"]


async def test_a_callback_error_is_raised_to_the_caller(tmp_path: Path) -> None:
    async def fail(session_id: str, update: Update) -> None:
        raise LookupError(f"{session_id} {type(update).__name__}")

    async def converse() -> None:
        async with drive_memory_server(tmp_path, ONE_TWO_THREE, ClientProfile(fail)) as agent:
            await agent.initialize()
            await agent.new_session(tmp_path)
            await anyio.sleep_forever()

    with pytest.raises(LookupError, match="AvailableCommandsUpdate"):
        await converse()

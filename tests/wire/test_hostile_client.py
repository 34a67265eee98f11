import json
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from pydantic import JsonValue

from acp_server.handlers.auth import NO_KEY
from tests.support.editor import (
    Editor,
    Object,
    json_at,
    make_configuration,
    open_editor,
    prompt_params,
)
from tests.support.server_process import ServerProcess, start_server
from tests.wire.malformed_messages import (
    ExpectedResponse,
    encode_for_session,
    expected_response,
    messages,
)

ECHO = "prompt: *\nsay: Hello!"
AUTHENTICATION_REQUIRED, INTERNAL_ERROR = -32000, -32603


def a_few_or(count: int, few: int) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("examples", [few, pytest.param(count, marks=pytest.mark.full)])


def check(answer: Object) -> None:
    if "error" in answer:
        assert json_at(answer, "error", "code") != INTERNAL_ERROR, answer
        if json_at(answer, "error", "code") == AUTHENTICATION_REQUIRED:
            assert json_at(answer, "error", "data", "details") == NO_KEY, (
                answer
            )  # authenticate only
        assert json_at(answer, "error", "data", "details"), answer


def answers_in(received: list[Object]) -> list[Object]:
    return [message for message in received if "method" not in message]


async def ask(editor: Editor, name: str, method: str, params: JsonValue) -> JsonValue:
    """Ask under an id that no hostile message has; the answer must be a result."""
    editor.send({"jsonrpc": "2.0", "id": name, "method": method, "params": params})
    answer = await editor.wait_for_response(lambda each: each.get("id") == name)
    assert "result" in answer, answer
    return answer["result"]


async def new_session(editor: Editor, name: str) -> str:
    return str(
        json_at(await ask(editor, name, "session/new", {"cwd": "/", "mcpServers": []}), "sessionId")
    )


async def survive(message: JsonValue, home: Path, *, is_first: bool) -> None:
    """Send one hostile message; it gets what is owed to it, and the next client request works."""
    async with open_editor(make_configuration(home, ECHO), is_file=True) as editor:
        session_id = "none yet"
        if not is_first:
            await ask(editor, "good: initialize", "initialize", {"protocolVersion": 1})
            session_id = await new_session(editor, "good: first")
        line = encode_for_session(message, session_id)
        editor.send_line(line)
        await ask(editor, "good: initialize again", "initialize", {"protocolVersion": 1})
        params = prompt_params(await new_session(editor, "good: second"), "hi")
        turn = await ask(editor, "good: prompt", "session/prompt", params)
        assert turn == {"stopReason": "end_turn"}
        await editor.disconnect()
    answers = [
        answer
        for answer in answers_in(editor.messages)
        if not str(answer["id"]).startswith("good: ")
    ]
    for answer in answers:
        check(answer)
    owed = expected_response(line)
    assert [answer["id"] for answer in answers] == ([owed.id] if owed.is_answered else [])


@a_few_or(5000, few=5)
@pytest.mark.parametrize("is_first", [False, True], ids=["ready", "first"])
def test_any_client_message_gets_one_response_and_the_next_request_works(
    examples: int, *, is_first: bool, tmp_path: Path
) -> None:
    @settings(max_examples=examples, suppress_health_check=[HealthCheck.too_slow])
    @given(messages)
    def check_one(message: JsonValue) -> None:
        async def run() -> None:
            await survive(message, tmp_path, is_first=is_first)

        anyio.run(run)

    check_one()


class HostileClient:
    """One real server that gets one hostile message after the other."""

    def __init__(self, server: ServerProcess) -> None:
        self._server = server
        self._count = 0
        self._answers: list[JsonValue] = []
        self._owed: list[JsonValue] = []
        server.initialize()
        self._session_id = server.new_session()

    def send(self, message: JsonValue) -> None:
        line = encode_for_session(message, self._session_id)
        owed = expected_response(line)
        self._server.send_bytes(line + b"\n")
        self._owed += [owed.id] if owed.is_answered else []
        self._await_both(self._ask_for_a_session(), owed)

    def assert_that_each_was_answered_once(self) -> None:
        assert sorted(map(json.dumps, self._answers)) == sorted(map(json.dumps, self._owed))

    def _ask_for_a_session(self) -> str:
        """Sessions are closed by hostile messages too: the next one gets a new one."""
        self._count += 1
        name = f"good: {self._count}"
        params: JsonValue = {"cwd": "/", "mcpServers": []}
        self._server.send({"jsonrpc": "2.0", "id": name, "method": "session/new", "params": params})
        return name

    def _await_both(self, name: str, owed: ExpectedResponse) -> None:
        has_session, has_answer = False, not owed.is_answered
        while not (has_session and has_answer):
            message = self._server.receive()
            if "method" in message:
                continue
            check(message)
            if message["id"] == name:
                self._session_id = str(json_at(message, "result", "sessionId"))
                has_session = True
            else:
                self._answers.append(message["id"])
                has_answer = True


@a_few_or(20_000, few=25)
def test_a_real_server_survives_any_number_of_hostile_messages(examples: int) -> None:
    with TemporaryDirectory() as home, start_server(Path(home), ECHO) as server:
        torment = HostileClient(server)

        @settings(max_examples=examples, suppress_health_check=[HealthCheck.too_slow])
        @given(messages)
        def check_one(message: JsonValue) -> None:
            torment.send(message)

        check_one()
        torment.assert_that_each_was_answered_once()
        assert server.prompt(server.new_session())["result"] == {"stopReason": "end_turn"}
        server.close_stdin()
        assert server.wait() == 0
        assert "Traceback" not in server.stderr()

"""Opening a session: its folders, its answer, and what follows the answer."""

from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.session.registry import SessionRegistry
from acp_server.session.workspace import SessionWorkspace
from tests.handlers import expected
from tests.handlers.checked_editor import CheckedEditor, open_checked_editor
from tests.handlers.fake_models import EchoModel
from tests.support.editor import Object, json_at
from tests.support.server_parts import make_registry
from tests.support.user_texts import NOT_ABSOLUTE_PATH, PARAMS_MUST_BE_OBJECT


def echoing() -> SessionRegistry:
    return make_registry(EchoModel)


async def refusal(editor: CheckedEditor, **params: JsonValue) -> Object:
    """The answer to a session/new that must not open a session."""
    answer = await editor.call("session/new", {"mcpServers": [], **params})
    assert editor.updates == []
    return answer


async def test_a_new_session_is_answered_before_its_commands_are_advertised(
    tmp_path: Path,
) -> None:
    """Trap 2, ACP-SESSION, ACP-MODES, ACP-CONFIG, ACP-SCHEMA: the whole exchange, in order."""
    async with open_checked_editor(echoing()) as editor:
        session = await editor.new_session(tmp_path)
        await editor.wait_for_response(lambda message: "method" in message)
        assert editor.messages == [
            expected.result_response(1, expected.INITIALIZED),
            expected.result_response(2, expected.new_session_result(session)),
            expected.session_update(session, expected.COMMANDS),
        ]


async def test_sessions_opened_concurrently_each_get_their_response_before_their_commands() -> None:
    """Trap 2: also when the answers overtake each other."""
    async with open_checked_editor(echoing()) as editor:
        pending = [
            editor.start_request("session/new", {"cwd": "/", "mcpServers": []}) for _ in range(20)
        ]
        for each in pending:
            await each.response()
        await editor.wait_until(lambda: len(editor.updates) == 20 or None, "all commands")
        known: set[JsonValue] = set()
        for message in editor.messages[1:]:
            if "result" in message and isinstance(message["result"], dict):
                known.add(str(message["result"]["sessionId"]))
            elif isinstance(message["params"], dict):
                assert message["params"]["sessionId"] in known
        assert len(known) == 20


async def test_a_new_session_starts_in_the_configured_mode() -> None:
    """ACP-MODES: modes and the mode option are in step from the beginning."""
    async with open_checked_editor(make_registry(EchoModel, "plan")) as editor:
        answer = await editor.call("session/new", {"cwd": "/", "mcpServers": []})
        assert expected.shorten_ids(answer) == expected.result_response(
            2, expected.new_session_result("sess_1", mode="plan")
        )


@pytest.mark.parametrize(
    "name",
    [
        "plain",
        "with a space",
        "percent%20encoded%2F%",
        "ünïcödé-日本-🙂",
        "new\nline",
        "quote\"s 'n' \\back\\slash",
        "#hash?query",
        "~",
        ".hidden",
        "two\u2028lines",
    ],
)
async def test_the_working_directory_is_the_requested_one(tmp_path: Path, name: str) -> None:
    """Trap 13, ACP-SESSION: nothing in a path is decoded, expanded or tidied away."""
    folder = tmp_path / name
    folder.mkdir()
    registry = echoing()
    async with open_checked_editor(registry) as editor:
        session = await editor.new_session(folder)
        assert registry.find(session).context.workspace == SessionWorkspace(folder)


@pytest.mark.parametrize(
    "cwd", ["relative", "./here", "../up", "", ".", "~/home", "file:///tmp", "C:\\work", " /tmp"]
)
async def test_a_relative_working_directory_is_refused(cwd: str) -> None:
    """Trap 13."""
    reason = f"{cwd!r} {NOT_ABSOLUTE_PATH}"
    async with open_checked_editor(echoing()) as editor:
        assert await refusal(editor, cwd=cwd) == expected.invalid_params(2, reason)


async def test_a_working_directory_containing_nul_is_refused() -> None:
    """Trap 13."""
    reason = f"'/srv/\\x00' {NOT_ABSOLUTE_PATH}"
    async with open_checked_editor(echoing()) as editor:
        assert await refusal(editor, cwd="/srv/\0") == expected.invalid_params(2, reason)


async def test_a_missing_working_directory_is_refused(tmp_path: Path) -> None:
    """Trap 13."""
    missing = str(tmp_path / "missing")
    reason = f"{missing!r} is not a directory; send an existing workspace directory"
    async with open_checked_editor(echoing()) as editor:
        assert await refusal(editor, cwd=missing) == expected.invalid_params(2, reason)


async def test_a_working_directory_that_is_a_file_is_refused(tmp_path: Path) -> None:
    """Trap 13."""
    file = tmp_path / "file"
    file.touch()
    reason = f"{str(file)!r} is not a directory; send an existing workspace directory"
    async with open_checked_editor(echoing()) as editor:
        assert await refusal(editor, cwd=str(file)) == expected.invalid_params(2, reason)


async def test_an_unreadable_working_directory_is_refused_with_the_cause() -> None:
    """Trap 13."""
    endless = "/" + "x" * 1500
    reason = f"{endless!r} cannot be read: File name too long"
    async with open_checked_editor(echoing()) as editor:
        assert await refusal(editor, cwd=endless) == expected.invalid_params(2, reason)


@pytest.mark.parametrize(
    ("params", "reason"),
    [
        ({}, "cwd: Field required"),
        ({"cwd": None}, "cwd: Input should be a valid string"),
        ({"cwd": 5}, "cwd: Input should be a valid string"),
        ({"cwd": ["/"]}, "cwd: Input should be a valid string"),
    ],
)
async def test_a_non_string_working_directory_is_refused(
    params: dict[str, JsonValue], reason: str
) -> None:
    """Trap 11, Trap 13: cwd is strict."""
    async with open_checked_editor(echoing()) as editor:
        assert await refusal(editor, **params) == expected.invalid_params(2, reason)


@pytest.mark.parametrize("params", [[], ["/"], [{"cwd": "/"}]])
async def test_positional_parameters_are_refused(params: JsonValue) -> None:
    """ACP-JSONRPC: ACP knows parameters by name only."""
    async with open_checked_editor(echoing()) as editor:
        assert await editor.call("session/new", params) == expected.invalid_params(
            2, PARAMS_MUST_BE_OBJECT
        )


@pytest.mark.parametrize(
    "servers",
    [
        None,
        "none",
        {},
        [5, None, {}, {"name": "half"}],
        [{"name": "x", "command": "relative", "args": None, "env": None}],
        [{"type": "http", "name": "x", "url": "http://localhost:1", "headers": []}],
        [{"type": "carrier pigeon", "name": "x"}],
    ],
)
async def test_an_invalid_mcp_server_does_not_prevent_a_session(servers: JsonValue) -> None:
    """Trap 11, ACP-SESSION: the schema says to skip invalid items."""
    async with open_checked_editor(echoing()) as editor:
        session = await editor.new_session(mcpServers=servers)
        assert await editor.prompt(session, "hi") == expected.END_TURN


async def test_unknown_parameters_are_ignored() -> None:
    """Trap 11."""
    async with open_checked_editor(echoing()) as editor:
        session = await editor.new_session(futureField={"a": [1]}, anotherOne="x")
        assert await editor.prompt(session, "hi") == expected.END_TURN


async def test_additional_directories_belong_to_the_session(tmp_path: Path) -> None:
    """ACP-ADDDIRS: all of them, in order, as they were sent."""
    folders = (tmp_path / "one more", tmp_path / "zwei%20")
    registry = echoing()
    async with open_checked_editor(registry) as editor:
        session = await editor.new_session(
            tmp_path, additionalDirectories=[str(each) for each in folders]
        )
        assert registry.find(session).context.workspace == SessionWorkspace(tmp_path, folders)


@pytest.mark.parametrize("none", [None, []])
async def test_an_empty_list_of_additional_directories_adds_none(none: JsonValue) -> None:
    """ACP-ADDDIRS."""
    registry = echoing()
    async with open_checked_editor(registry) as editor:
        session = await editor.new_session(additionalDirectories=none)
        assert registry.find(session).context.workspace == SessionWorkspace(Path("/"))


@pytest.mark.parametrize(
    ("directories", "reason"),
    [
        (
            ["relative"],
            f"'relative' {NOT_ABSOLUTE_PATH}",
        ),
        (["/a", "b"], f"'b' {NOT_ABSOLUTE_PATH}"),
        (["."], f"'.' {NOT_ABSOLUTE_PATH}"),
        (["/a\0b"], f"'/a\\x00b' {NOT_ABSOLUTE_PATH}"),
        ([""], "additionalDirectories.0: String should have at least 1 character"),
        (["/a", ""], "additionalDirectories.1: String should have at least 1 character"),
        ([None], "additionalDirectories.0: Input should be a valid string"),
        (["/a", 5], "additionalDirectories.1: Input should be a valid string"),
        ([["/a"]], "additionalDirectories.0: Input should be a valid string"),
        ("/a", "additionalDirectories: Input should be a valid tuple"),
        ({"0": "/a"}, "additionalDirectories: Input should be a valid tuple"),
        (True, "additionalDirectories: Input should be a valid tuple"),
    ],
)
async def test_an_invalid_additional_directory_is_refused_and_never_dropped(
    directories: JsonValue, reason: str
) -> None:
    """ACP-ADDDIRS, Trap 13."""
    async with open_checked_editor(echoing()) as editor:
        answer = await refusal(editor, cwd="/", additionalDirectories=directories)
        assert answer == expected.invalid_params(2, reason)


async def test_a_cancelled_session_new_request_is_answered_exactly_once() -> None:
    """Trap 6: with the session, or with -32800."""
    async with open_checked_editor(echoing()) as editor:
        pending = editor.start_request("session/new", {"cwd": "/", "mcpServers": []})
        editor.notify("$/cancel_request", {"requestId": pending.id})
        assert await pending.response() == {
            "jsonrpc": "2.0",
            "id": pending.id,
            "error": {"code": -32800, "message": "Request cancelled"},
        }
        assert editor.updates == []


async def test_the_commands_are_sent_once_also_with_a_prompt_at_once(tmp_path: Path) -> None:
    """Clients rebuild their menus with each list: one, complete, within the turn that needs it."""
    async with open_checked_editor(EchoModel()) as editor:
        session = await editor.new_session(tmp_path)
        await editor.prompt(session, "hi")
        seen = len(editor.messages)
        await editor.prompt(session, "hi")
        kinds = [json_at(each, "sessionUpdate") for each in editor.updates_of(session)]
        assert kinds.count("available_commands_update") == 1
        assert kinds.index("available_commands_update") < kinds.index("agent_message_chunk")
        later = editor.messages[seen:]
        assert expected.without_commands(later) == later

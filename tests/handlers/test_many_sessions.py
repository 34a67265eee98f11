"""Many sessions in as many folders on one connection, all at work at the same time."""

from collections import Counter
from pathlib import Path

import pytest
from pydantic import JsonValue

from acp_server.session.registry import SessionRegistry
from acp_server.session.workspace import SessionWorkspace
from tests.handlers import expected
from tests.handlers.checked_editor import CheckedEditor, make_scripted_registry, open_checked_editor
from tests.support.editor import json_at, prompt_params

counts = pytest.mark.parametrize("count", [20, pytest.param(50, marks=pytest.mark.full)])
"""Number of sessions."""
CHUNKS = 40
MOST_APART = 2
"""How many chunks the most and the least advanced turn may be apart at any moment; 1 is usual."""

SCRIPT = f"""\
prompt: wait
say: Working
pause: 60s

prompt: begin
say: .

prompt: *
chunks: {CHUNKS} word
"""


async def open_sessions(editor: CheckedEditor, folder: Path, count: int) -> list[str]:
    """Open the sessions, each in a folder of its own, with its script already loaded."""
    sessions: list[str] = []
    for number in range(count):
        cwd = folder / f"project {number}"
        cwd.mkdir()
        sessions.append(await editor.new_session(cwd))
    for session in sessions:
        await editor.prompt(session, "begin")
    return sessions


def largest_gap(updates: list[str]) -> int:
    """How far the most and the least advanced of the unfinished turns were ever apart.

    `updates` holds the session of each chunk, in the order of the wire.
    """
    counts = Counter(dict.fromkeys(updates, 0))
    furthest = 0
    for session in updates:
        counts[session] += 1
        going = [count for count in counts.values() if count < CHUNKS]
        if going:
            furthest = max(furthest, max(going) - min(going))
    return furthest


@counts
@pytest.mark.parametrize("capacity_bytes", [128 * 1024, 2000], ids=["roomy", "tight"])
async def test_many_concurrent_turns_progress_evenly_and_never_mix(
    tmp_path: Path, capacity_bytes: int, count: int
) -> None:
    """Trap 15, ACP-SESSION: also when all of them wait for a reader that is too slow."""
    registry = make_scripted_registry(tmp_path, SCRIPT)
    async with open_checked_editor(registry, capacity_bytes=capacity_bytes) as editor:
        sessions = await open_sessions(editor, tmp_path, count)
        before = len(editor.messages)
        pending = [editor.start_prompt(session, "go") for session in sessions]
        for each in pending:
            assert (await each.response())["result"] == expected.END_TURN

        words = [message for message in editor.messages[before:] if "method" in message]
        assert (
            largest_gap([str(json_at(word, "params", "sessionId")) for word in words]) <= MOST_APART
        )
        assert [editor.agent_text(session) for session in sessions] == [
            "." + "word" * CHUNKS
        ] * count
        assert [registry.find(session).context.workspace for session in sessions] == [
            SessionWorkspace(tmp_path / f"project {number}") for number in range(count)
        ]


@counts
async def test_each_of_many_sessions_has_its_own_messages_conversation_and_mode(
    tmp_path: Path, count: int
) -> None:
    """Trap 15, ACP-SESSION."""
    registry = make_scripted_registry(tmp_path, SCRIPT)
    async with open_checked_editor(registry) as editor:
        sessions = await open_sessions(editor, tmp_path, count)
        for session in sessions[::2]:
            await editor.call("session/set_mode", {"sessionId": session, "modeId": "plan"})
        pending = [editor.start_prompt(session, f"go {session}") for session in sessions]
        for each in pending:
            await each.response()

        owners: dict[JsonValue, JsonValue] = {}
        for update in editor.updates:
            if json_at(update, "update", "sessionUpdate") == "agent_message_chunk":
                owner = owners.setdefault(
                    str(json_at(update, "update", "messageId")), update["sessionId"]
                )
                assert owner == update["sessionId"]
        assert Counter(owners.values()) == Counter(dict.fromkeys(sessions, 2))
        assert [registry.find(session).context.options.mode for session in sessions] == [
            "plan",
            "ask",
        ] * (count // 2)
        for session in sessions:
            prompts = list(registry.find(session).context.conversation)[::2]
            assert str(prompts[1]).count(session) == 1


@counts
async def test_many_turns_can_be_cancelled_one_by_one_while_the_others_continue(
    tmp_path: Path, count: int
) -> None:
    """Trap 15."""
    async with open_checked_editor(make_scripted_registry(tmp_path, SCRIPT)) as editor:
        sessions = await open_sessions(editor, tmp_path, count)
        pending = [editor.start_prompt(session, "wait") for session in sessions]
        await editor.wait_until(
            lambda: all("Working" in editor.agent_text(session) for session in sessions) or None,
            "word of every session",
        )
        for number, each in enumerate(pending):
            editor.cancel(sessions[number])
            assert (await each.response())["result"] == expected.CANCELLED
            assert not any(other.is_answered for other in pending[number + 1 :])


@counts
async def test_many_sessions_opened_and_prompted_in_one_write_are_all_served(
    tmp_path: Path, count: int
) -> None:
    """Trap 15: with nothing loaded yet."""
    registry: SessionRegistry = make_scripted_registry(tmp_path, SCRIPT)
    async with open_checked_editor(registry) as editor:
        opened = [editor.start_request("session/new", {"cwd": str(tmp_path)}) for _ in range(count)]
        sessions = [str(json_at(await each.response(), "result", "sessionId")) for each in opened]
        pending = [
            editor.start_request("session/prompt", prompt_params(session, "begin"))
            for session in sessions
        ]
        for each in pending:
            assert (await each.response())["result"] == expected.END_TURN
        assert [editor.agent_text(session) for session in sessions] == ["."] * count

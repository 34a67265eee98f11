"""What was sent once is sent again byte for byte: the system prompt, the tools, every message."""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from acp_server.turn.conversation import Text, ToolResult, UserMessage
from acp_server.turn.ports import ModelRequest, TextDelta, ThinkingDelta, ThinkingSigned
from tests.prompting.prompted_session import (
    embedded_resource,
    hints_in,
    open_prompted_session,
    resource_link,
    write_file,
)
from tests.support.editor import Object
from tests.tools.typing_model import call, stream_call


def assert_each_extends_the_previous(requests: Sequence[ModelRequest]) -> None:
    """Compare the requests of a session, one with the next."""
    for earlier, later in pairwise(requests):
        assert (later.system, later.tools) == (earlier.system, earlier.tools)
        assert tuple(later.messages[: len(earlier.messages)]) == tuple(earlier.messages)
        assert len(later.messages) > len(earlier.messages)


async def test_sent_messages_never_change(tmp_path: Path) -> None:
    async with open_prompted_session(tmp_path) as session:
        session.write_file("AGENTS.md", "Of all.")
        session.write_file("a/AGENTS.md", "Of a.")
        path = session.write_file("a/b/c.txt", "see\n")
        session.write_file("a/b/AGENTS.md", "Of b.")
        await session.run(
            call("write_file", path="new.txt", content="x"), call("terminal", command="cat new.txt")
        )
        await session.run_one(call("read_file", path="a/b/c.txt"))
        session.write_file("AGENTS.md", "Of all, now.")
        write_file(tmp_path / "own/memories/MEMORY.md", "Something new.")
        write_file(tmp_path / "own/SOUL.md", "You are someone else.")
        await session.run_one(call("write_file", path="AGENTS.md", content="Of all, in the end."))
        view: Object = {"sessionId": session.session_id, "path": str(path)}
        session.editor.notify("_hermes/active_file", view)
        session.write_file("a/AGENTS.md", "Of a, now.")
        await session.prompt(resource_link(path), embedded_resource(path))
        requests = list(session.model.requests)
        await session.prompt(session_id=await session.editor.new_session(session.root))
        thinking = [ThinkingDelta("Hm."), ThinkingSigned("signature"), TextDelta("I see.")]
        requests.append(await session.prompt(answer=thinking))
        requests.append(await session.prompt())
        await session.run_command("/context")
        requests.append(await session.prompt())
        assert_each_extends_the_previous(requests)
        assert (requests[0].system.count("Of all."), "Of all, " in requests[0].system) == (1, False)


async def test_delivered_instructions_stay_in_place(tmp_path: Path) -> None:
    async with open_prompted_session(tmp_path) as session:
        session.write_file("a/AGENTS.md", "Of a.")
        outcome = await session.run_one(call("read_file", path="a/AGENTS.md"))
        session.write_file("a/AGENTS.md", "Of a, now.")
        request = await session.prompt(answer=stream_call(call("read_file", path="a/AGENTS.md")))
        parts = [part for message in request.messages for part in message.parts]
        results = [part for part in parts if isinstance(part, ToolResult)]
        assert results[0] == outcome.result
        assert [hint for result in results for hint in hints_in(result.text)] == [
            ("a/AGENTS.md", "Of a."),
            ("a/AGENTS.md*", "Of a, now."),
        ]
        assert_each_extends_the_previous(session.model.requests)


async def test_the_same_facts_give_two_sessions_the_same_bytes(tmp_path: Path) -> None:
    async with open_prompted_session(tmp_path) as session:
        session.write_file("AGENTS.md", "Of all.")
        one = await session.prompt()
        two = await session.prompt(session_id=await session.editor.new_session(session.root))
        assert one == two
        assert one.messages == (UserMessage((Text("Look"),)),)

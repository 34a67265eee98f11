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


def assert_each_begins_with_the_former(requests: Sequence[ModelRequest]) -> None:
    """Compare the requests of a session, one with the next."""
    for former, later in pairwise(requests):
        assert (later.system, later.tools) == (former.system, former.tools)
        assert tuple(later.messages[: len(former.messages)]) == tuple(former.messages)
        assert len(later.messages) > len(former.messages)


async def test_sent_messages_never_change(tmp_path: Path) -> None:
    async with open_prompted_session(tmp_path) as room:
        room.write_file("AGENTS.md", "Of all.")
        room.write_file("a/AGENTS.md", "Of a.")
        path = room.write_file("a/b/c.txt", "see\n")
        room.write_file("a/b/AGENTS.md", "Of b.")
        await room.run(
            call("write_file", path="new.txt", content="x"), call("terminal", command="cat new.txt")
        )
        await room.run_one(call("read_file", path="a/b/c.txt"))
        room.write_file("AGENTS.md", "Of all, now.")
        write_file(tmp_path / "own/memories/MEMORY.md", "Something new.")
        write_file(tmp_path / "own/SOUL.md", "You are someone else.")
        await room.run_one(call("write_file", path="AGENTS.md", content="Of all, in the end."))
        view: Object = {"sessionId": room.session_id, "path": str(path)}
        room.editor.notify("_hermes/active_file", view)
        room.write_file("a/AGENTS.md", "Of a, now.")
        await room.prompt(resource_link(path), embedded_resource(path))
        requests = list(room.model.requests)
        await room.prompt(session_id=await room.editor.new_session(room.root))
        thinking = [ThinkingDelta("Hm."), ThinkingSigned("sealed"), TextDelta("I see.")]
        requests.append(await room.prompt(answer=thinking))
        requests.append(await room.prompt())
        await room.run_command("/context")
        requests.append(await room.prompt())
        assert_each_begins_with_the_former(requests)
        assert (requests[0].system.count("Of all."), "Of all, " in requests[0].system) == (1, False)


async def test_delivered_instructions_stay_in_place(tmp_path: Path) -> None:
    async with open_prompted_session(tmp_path) as room:
        room.write_file("a/AGENTS.md", "Of a.")
        told = await room.run_one(call("read_file", path="a/AGENTS.md"))
        room.write_file("a/AGENTS.md", "Of a, now.")
        request = await room.prompt(answer=stream_call(call("read_file", path="a/AGENTS.md")))
        parts = [part for message in request.messages for part in message.parts]
        results = [part for part in parts if isinstance(part, ToolResult)]
        assert results[0] == told.result
        assert [hint for result in results for hint in hints_in(result.text)] == [
            ("a/AGENTS.md", "Of a."),
            ("a/AGENTS.md*", "Of a, now."),
        ]
        assert_each_begins_with_the_former(room.model.requests)


async def test_the_same_facts_give_two_sessions_the_same_bytes(tmp_path: Path) -> None:
    async with open_prompted_session(tmp_path) as room:
        room.write_file("AGENTS.md", "Of all.")
        one = await room.prompt()
        two = await room.prompt(session_id=await room.editor.new_session(room.root))
        assert one == two
        assert one.messages == (UserMessage((Text("Look"),)),)

"""The Python SDK from PyPI takes the real server through a session."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, cast

import anyio
import pytest
from pydantic import BaseModel, JsonValue

from tests.handlers import expected
from tests.smoke import server
from tests.support.editor import json_at
from tests.support.server_process import command_line, environment, model_id
from tests.support.user_texts import SESSION_NOT_FOUND

if TYPE_CHECKING:  # its schema takes a second: it is imported when the test runs
    import acp
    from acp.client import ClientSideConnection
    from acp.connection import StreamEvent
    from acp.helpers import ContentBlock


class Recorder:
    """A client that keeps what it is shown, and can do nothing else."""

    def __init__(self) -> None:
        self.received: list[JsonValue] = []
        """What came over the wire, without the envelope, in order."""
        self.updates: list[JsonValue] = []
        """What the SDK made of the updates among it."""
        self.started = anyio.Event()

    def observe(self, event: "StreamEvent") -> None:
        """Keep a message as it comes in."""
        if event.direction.value == "incoming":
            message = cast("dict[str, JsonValue]", event.message)
            content = next(message[key] for key in ("params", "result", "error") if key in message)
            self.received.append(content)

    async def session_update(self, session_id: str, update: BaseModel, **kwargs: object) -> None:
        assert kwargs == {}
        content: JsonValue = update.model_dump(mode="json", by_alias=True, exclude_none=True)
        self.updates.append({"sessionId": session_id, "update": content})
        if "Working" in str(content):
            self.started.set()


def update(content: JsonValue) -> JsonValue:
    return {"sessionId": "sess_1", "update": content}


def text(words: str) -> "list[ContentBlock]":
    from acp import text_block

    return [text_block(words)]


async def work_through_a_session(
    agent: "ClientSideConnection", client: Recorder, cwd: Path
) -> None:
    """Ask for everything that the server does."""
    import acp
    from acp.schema import ClientCapabilities

    await agent.initialize(acp.PROTOCOL_VERSION, client_capabilities=ClientCapabilities())
    session = (await agent.new_session(str(cwd), mcp_servers=[])).session_id
    await agent.prompt(session, text("hello"))
    await agent.set_session_mode(mode_id="plan", session_id=session)
    await agent.set_config_option(config_id="mode", session_id=session, value="accept_edits")
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(agent.prompt, session, text("wait"))
        await client.started.wait()
        await agent.cancel(session)
    await agent.prompt(session, text("hello again"))
    await agent.close_session(session)
    with pytest.raises(acp.RequestError, match=SESSION_NOT_FOUND):
        await agent.prompt(session, text("anyone?"))


async def test_the_python_sdk_works_through_a_session_from_initialize_to_close(
    tmp_path: Path,
) -> None:
    from acp import spawn_agent_process

    client = Recorder()
    process = spawn_agent_process(
        cast("acp.Client", client),
        *command_line(tmp_path, server.SCRIPT),
        env=environment(tmp_path),
        cwd=tmp_path,
        observers=[client.observe],
    )
    with anyio.fail_after(server.DEADLINE_SECONDS):
        async with process as (agent, child):
            await work_through_a_session(agent, client, tmp_path)

    assert child.returncode == 0
    assert expected.shorten_ids(server.drop_info_updates(client.received)) == [
        expected.INITIALIZED,
        expected.new_session_result("sess_1", model=model_id(tmp_path), network="hosts"),
        *map(update, server.greeting_updates(first_message=1)),
        expected.END_TURN,
        {},
        update(expected.options_update("plan", model_id(tmp_path), "hosts")),
        {"configOptions": expected.config_options("accept_edits", model_id(tmp_path), "hosts")},
        update(expected.mode_update("accept_edits")),
        update(expected.message_chunk("msg_3", "Working")),
        expected.CANCELLED,
        *map(update, server.greeting_updates(first_message=4)),
        expected.END_TURN,
        {},
        json_at(expected.unknown_session(0, "sess_1"), "error"),
    ]
    # The SDK drops a category of ours that it does not know, as ACP allows.
    assert client.updates == [
        json.loads(json.dumps(each).replace(', "category": "_network"', ""))
        for each in client.received
        if isinstance(each, dict) and "update" in each
    ]

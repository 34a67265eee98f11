"""Whether a person is at the other end: where we drive ourselves, nothing is reviewed."""

import pytest
from pydantic import JsonValue

from acp_server.handlers.agent_connection import Connection
from acp_server.handlers.client_connection import Link
from acp_server.headless.agent import Editor
from acp_server.jsonrpc.memory import memory_pair
from acp_server.models.scripted import ScriptedModel
from tests.support.server_parts import registry_of, way_in


@pytest.mark.parametrize(
    ("name", "expected"),
    [("zed", True), (Editor().info.name, False)],
    ids=["an editor", "our own client"],
)
async def test_a_client_is_known_by_its_name(name: str, *, expected: bool) -> None:
    link = Link.over(memory_pair()[0])
    params: JsonValue = {"protocolVersion": 1, "clientInfo": {"name": name, "version": "1"}}
    Connection(link, registry_of(lambda: ScriptedModel("demo")), way_in(), params)
    assert link.is_attended is expected


async def test_a_client_that_does_not_say_what_it_is_counts_as_a_person() -> None:
    assert Link.over(memory_pair()[0]).is_attended

"""Whether a person is at the other end: where we drive ourselves, nothing is reviewed."""

import pytest
from pydantic import JsonValue

from acp_server.handlers.agent_connection import AgentConnection
from acp_server.handlers.client_connection import ClientConnection
from acp_server.headless.agent import ClientProfile
from acp_server.jsonrpc.memory import create_memory_pair
from acp_server.models.scripted import ScriptedModel
from tests.support.server_parts import make_auth_handlers, make_registry


@pytest.mark.parametrize(
    ("name", "expected"),
    [("zed", True), (ClientProfile().info.name, False)],
    ids=["an editor", "our own client"],
)
async def test_a_client_is_recognized_by_its_name(name: str, *, expected: bool) -> None:
    link = ClientConnection.from_transport(create_memory_pair()[0])
    params: JsonValue = {"protocolVersion": 1, "clientInfo": {"name": name, "version": "1"}}
    AgentConnection(
        link, make_registry(lambda: ScriptedModel("demo")), make_auth_handlers(), params
    )
    assert link.is_attended is expected


async def test_an_unidentified_client_counts_as_attended() -> None:
    assert ClientConnection.from_transport(create_memory_pair()[0]).is_attended

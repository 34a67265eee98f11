"""Pieces of streamed messages are, byte for byte, what their models write."""

from acp_server.jsonrpc.messages import notification_line
from acp_server.protocol.chunk_templates import ChunkTemplates, ChunkType
from acp_server.protocol.content import TextContent
from acp_server.protocol.updates import AgentMessageChunk, AgentThoughtChunk, SessionNotification
from tests.support.case_table import each_case

TEXTS = {
    "plain": "five words of text here.",
    "empty": "",
    "what JSON escapes": 'a "quoted" \\ back\tslash\n\x00\x1f\x7f',
    "other scripts": "Grüße, 世界 \U0001f30d \u2028",
    "half a character": "\ud83d",
    "both halves": "\ud83d\ude00",
}


@each_case("text", TEXTS.values(), ids=TEXTS)
@each_case("piece_type", [AgentMessageChunk, AgentThoughtChunk])
def test_a_templated_chunk_is_serialized_as_its_model(piece_type: ChunkType, text: str) -> None:
    update = piece_type(content=TextContent(text=text), message_id="msg_1")
    notification = SessionNotification(session_id="sess_1", update=update)
    form = ChunkTemplates("sess_1").template(piece_type, "msg_1")
    assert form.render(text) == notification_line("session/update", notification)


def test_a_chunk_template_is_created_once_per_message() -> None:
    pieces = ChunkTemplates("sess_1")
    first = pieces.template(AgentMessageChunk, "msg_1")
    assert pieces.template(AgentMessageChunk, "msg_1") is first
    assert pieces.template(AgentThoughtChunk, "msg_1") is not first
    assert pieces.template(AgentMessageChunk, "msg_2") is not first

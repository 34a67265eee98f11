"""Which files of instructions the model was given is told with the answer to each prompt."""

from hashlib import sha256
from pathlib import Path

from pydantic import JsonValue

from acp_server.turn.ports import TextDelta
from tests.prompting.prompted_session import PromptedSession, open_prompted_session
from tests.support.editor import json_at
from tests.tools.typing_model import call


def file(path: str, text: str) -> JsonValue:
    digest = sha256(text.encode()).hexdigest()
    return {"path": path, "sha256": digest, "characters": len(text), "truncated": False}


async def instructions_of(session: PromptedSession) -> JsonValue:
    session.model.rounds = [(TextDelta("I see."),)]
    return await session.editor.prompt(session.session_id, "Look")


async def test_the_response_lists_the_workspace_instructions(tmp_path: Path) -> None:
    async with open_prompted_session(tmp_path) as session:
        session.write_file("AGENTS.md", "Of all.")
        answer = await instructions_of(session)
        assert json_at(answer, "_meta", "hermes", "instructions") == [file("AGENTS.md", "Of all.")]


async def test_the_response_lists_instructions_delivered_during_the_turn(tmp_path: Path) -> None:
    async with open_prompted_session(tmp_path) as session:
        session.write_file("AGENTS.md", "Of all.")
        session.write_file("a/AGENTS.md", "Of a.")
        await session.run_one(call("read_file", path="a/AGENTS.md"))
        answer = await instructions_of(session)
        assert json_at(answer, "_meta", "hermes", "instructions") == [
            file("AGENTS.md", "Of all."),
            file("a/AGENTS.md", "Of a."),
        ]


async def test_the_response_omits_instructions_when_there_are_none(tmp_path: Path) -> None:
    async with open_prompted_session(tmp_path) as session:
        assert await instructions_of(session) == {"stopReason": "end_turn"}

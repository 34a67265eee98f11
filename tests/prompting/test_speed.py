"""Looking for instructions of folders costs a call next to nothing once they are there."""

import time
from pathlib import Path

from acp_server.session.prompting.provider import SystemPromptRequest
from acp_server.session.prompting.workspace_prompt import WorkspacePromptProvider
from acp_server.session.workspace import SessionWorkspace
from acp_server.turn.conversation import Conversation, Message, Text, ToolResult, UserMessage
from tests.prompting.prompted_session import make_prompt_config, write_file

MOST_SECONDS = 0.02
"""Ten times what is wanted: a machine that runs tests is busy."""
ROUNDS = 30


def long_history(count: int) -> list[Message]:
    """Results of so many calls, some kilobytes each."""
    return [
        UserMessage((ToolResult(f"call_{n}", "a line of output\n" * 300),)) for n in range(count)
    ]


async def test_a_lookup_without_new_hints_is_fast(tmp_path: Path) -> None:
    for folder in ("", "a/", "a/b/", "a/b/c/"):
        write_file(tmp_path / f"{folder}AGENTS.md", f"Of {folder}.")
    conversation = Conversation()
    conversation.rebuild(long_history(500))
    provider = WorkspacePromptProvider(make_prompt_config(tmp_path), SessionWorkspace(tmp_path))
    await provider.write_prompt(SystemPromptRequest("test", 200_000, frozenset()))
    touched = {"call": [str(tmp_path / "a/b/c/d.txt"), str(tmp_path / "a/b/e.txt")]}
    delivery = (await provider.find_instructions(conversation, touched))["call"]
    conversation.append(UserMessage((Text(delivery.text),)))
    took_seconds: list[float] = []
    for _ in range(ROUNDS):
        started = time.process_time()
        assert await provider.find_instructions(conversation, touched) == {}
        took_seconds.append(time.process_time() - started)
    assert sorted(took_seconds)[ROUNDS // 2] < MOST_SECONDS

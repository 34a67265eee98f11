"""`/context` shows what the model is told; `/reload` writes it anew."""

from pathlib import Path

from pydantic import JsonValue

from acp_server.turn.conversation import AssistantMessage, RedactedThinking, Text, Thinking
from acp_server.turn.errors import ModelFailedError
from acp_server.turn.events import Usage
from acp_server.turn.ports import TextDelta, ThinkingDelta, ThinkingSigned, UsageReported
from acp_server.turn.usage_totals import UsageTotals
from tests.prompting.prompted_session import INJECTION, hints_in, open_prompted_session
from tests.support.user_texts import CONVERSATION_NOW_HAS
from tests.tools.typing_model import call

THINKING = [ThinkingDelta("Hm."), ThinkingSigned("signature"), TextDelta("I see.")]


async def test_the_context_command_lists_sections_and_sources(tmp_path: Path) -> None:
    async with open_prompted_session(tmp_path) as session:
        session.write_file("AGENTS.md", "Of all.")
        session.write_file("CLAUDE.md", "Not wanted beside AGENTS.md.")
        output = await session.run_command("/context")
        assert output.startswith(
            "| section | source | characters | tokens | |\n|---|---|---|---|---|\n"
        )
        assert "| AGENTS.md | " in output
        assert "CLAUDE.md" not in output
        assert "Directory instructions loaded so far: none yet." in output
        assert session.model.requests == []


async def test_the_context_command_and_the_first_prompt_show_the_same_text(tmp_path: Path) -> None:
    async with open_prompted_session(tmp_path) as session:
        session.write_file("AGENTS.md", "Of all.")
        output = await session.run_command("/context")
        assert f"| **all** | | {len((await session.prompt()).system):,} |" in output


async def test_the_context_command_names_a_blocked_file(tmp_path: Path) -> None:
    async with open_prompted_session(tmp_path) as session:
        session.write_file("AGENTS.md", INJECTION)
        assert "blocked: ignore-earlier-instructions in line 1" in await session.run_command(
            "/context"
        )


async def test_the_context_command_lists_directory_instructions_at_once(tmp_path: Path) -> None:
    async with open_prompted_session(tmp_path) as session:
        session.write_file("a/AGENTS.md", "Of a.")
        assert "loaded so far: none yet." in await session.run_command("/context")
        await session.run_one(call("read_file", path="a/AGENTS.md"))
        assert "loaded so far: `a/AGENTS.md`." in await session.run_command("/context")
        session.sessions[session.session_id].context.conversation.rebuild(())
        assert "loaded so far: none yet." in await session.run_command("/context")


async def test_reload_reads_the_instructions_again_and_drops_reasoning(tmp_path: Path) -> None:
    async with open_prompted_session(tmp_path) as session:
        session.write_file("AGENTS.md", "Of all.")
        before = await session.prompt(answer=THINKING)
        with_reasoning = (await session.prompt()).messages[1]
        assert with_reasoning == AssistantMessage((Thinking("Hm.", "signature"), Text("I see.")))
        session.write_file("AGENTS.md", "Of all, now.")
        output = await session.run_command("/reload")
        assert output.startswith("The instructions were read again.")
        after = await session.prompt()
        assert after.system == before.system.replace("Of all.", "Of all, now.")
        parts = [part for message in after.messages for part in message.parts]
        assert not any(isinstance(part, Thinking | RedactedThinking) for part in parts)
        assert after.messages[1] == AssistantMessage((Text("I see."),))


async def test_reload_reads_the_memory_again(tmp_path: Path) -> None:
    async with open_prompted_session(tmp_path) as session:
        await session.prompt()
        (tmp_path / "own/memories").mkdir()
        (tmp_path / "own/memories/MEMORY.md").write_text("The tests run with `just`.")
        await session.run_command("/reload")
        assert "The tests run with `just`." in (await session.prompt()).system


async def test_files_read_by_reload_are_not_delivered_again_as_changed(tmp_path: Path) -> None:
    async with open_prompted_session(tmp_path) as session:
        session.write_file("AGENTS.md", "Of all.")
        session.write_file("a.txt", "text")
        await session.prompt()
        session.write_file("AGENTS.md", "Of all, now.")
        await session.run_command("/reload")
        assert hints_in((await session.run_one(call("read_file", path="a.txt"))).text) == []


async def test_compact_reads_everything_again_and_lost_instructions_return(
    tmp_path: Path,
) -> None:
    async with open_prompted_session(tmp_path) as session:
        session.write_file("AGENTS.md", "Of all.")
        session.write_file("a/AGENTS.md", "Of a.")
        await session.prompt()
        before = await session.prompt()
        await session.run_one(call("read_file", path="a/AGENTS.md"))
        for _ in range(14):
            await session.prompt()
        session.write_file("AGENTS.md", "Of all, now.")
        session.model.rounds = [[TextDelta("Much was said.")]]
        assert await session.run_command("/compact") == f"{CONVERSATION_NOW_HAS} 2 messages."
        summary_request = session.model.requests[-1]
        assert summary_request.system == before.system
        assert summary_request.messages[: len(before.messages)] == before.messages
        after = await session.prompt()
        assert after.system == before.system.replace("Of all.", "Of all, now.")
        outcome = await session.run_one(call("read_file", path="a/AGENTS.md"))
        assert hints_in(outcome.text) == [("a/AGENTS.md", "Of a.")]


async def test_a_failed_summary_changes_only_the_usage(tmp_path: Path) -> None:
    async def fail() -> None:
        reason = "the endpoint is down"
        raise ModelFailedError(reason)

    async with open_prompted_session(tmp_path) as prompted:
        for _ in range(14):
            await prompted.prompt()
        session = prompted.sessions[prompted.session_id]
        before = (session.context.conversation.generation, tuple(session.context.conversation))
        prompted.model.rounds = [[UsageReported(Usage(90, 10)), TextDelta("Much"), fail]]
        params: JsonValue = {
            "sessionId": prompted.session_id,
            "prompt": [{"type": "text", "text": "/compact"}],
        }
        answer = await prompted.editor.call("session/prompt", params)
        assert "the endpoint is down" in str(answer["error"])
        assert (
            session.context.conversation.generation,
            tuple(session.context.conversation),
        ) == before
        assert session.context.totals == UsageTotals(Usage(90, 10), requests=1)

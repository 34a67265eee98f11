"""A skill on the disk and the prompts of sessions: the running one stands, the next one has it."""

from pathlib import Path

from tests.prompting.prompted_session import open_prompted_session
from tests.skills_store.skill_files import write_skill
from tests.tools.typing_model import call


async def test_the_current_prompt_stays_and_the_next_session_sees_the_new_skill(
    tmp_path: Path,
) -> None:
    skills = tmp_path / "own/skills"
    write_skill(skills / "tidy", "Use to tidy.")
    async with open_prompted_session(tmp_path) as session:
        first = await session.prompt()
        assert "  - tidy: Use to tidy.\n" in first.system
        write_skill(skills / "release", "Use for a release.")
        second = await session.prompt()
        assert second.system == first.system
        assert second.tools == first.tools
        loaded = await session.run_one(call("skill_view", name="release"))
        assert loaded.status == "completed"
        other = await session.editor.new_session(session.root)
        third = await session.prompt(session_id=other)
        assert "  - release: Use for a release.\n" in third.system


async def test_an_invoked_skill_is_sent_with_the_users_message(tmp_path: Path) -> None:
    folder = write_skill(tmp_path / "own/skills/release", "Use for a release.")
    async with open_prompted_session(tmp_path) as session:
        request = await session.prompt({"type": "text", "text": "/release 1.2 now"})
    text = "".join(getattr(part, "text", "") for part in request.messages[-1].parts)
    assert text.startswith('[The user invoked the skill "release".')
    assert (folder / "SKILL.md").read_text().strip() in text
    assert f"The skill's folder is `{folder}`" in text
    assert text.endswith("[The user's message]\n\n1.2 now")


async def test_the_context_command_shows_the_skill_index(tmp_path: Path) -> None:
    async with open_prompted_session(tmp_path) as session:
        await session.prompt()
        assert "| skills_index |" in await session.run_command("/context")

"""The facts of a prompt are read once, early, and hold until the prompt is written anew."""

from dataclasses import replace
from pathlib import Path

import anyio

from acp_server.session.prompting.lazy_prompting import lazy_prompt_provider
from acp_server.session.prompting.provider import SystemPromptRequest
from acp_server.session.prompting.shared_reads import SharedReads
from acp_server.session.prompting.workspace_prompt import WorkspacePromptProvider
from acp_server.session.workspace import SessionWorkspace
from acp_server.turn.conversation import Conversation
from tests.prompting.prompted_session import INJECTION, make_prompt_config, write_file

SUBJECT = SystemPromptRequest("test", 200_000, frozenset({"terminal"}))


class Reader:
    """Counts how often a blocked file of the user's was read: trust is asked for each time."""

    def __init__(self, folder: Path) -> None:
        self.count = 0
        write_file(folder / "own/SOUL.md", INJECTION)
        self.settings = replace(make_prompt_config(folder), is_trusted=self._is_trusted)
        self.workspace = SessionWorkspace(folder)

    def _is_trusted(self, path: Path, sha256: str) -> bool:
        del path, sha256
        self.count += 1
        return False


async def test_a_prompt_arriving_during_fact_collection_waits_for_it(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    provider = await lazy_prompt_provider(reader.settings, reader.workspace).get()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(provider.gather_facts)
        tasks.start_soon(provider.write_prompt, SUBJECT)
        tasks.start_soon(provider.gather_facts)
    assert reader.count == 1


async def test_a_rebuilt_prompt_collects_facts_again(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    provider = WorkspacePromptProvider(reader.settings, reader.workspace)
    await provider.gather_facts()
    before = await provider.write_prompt(SUBJECT)
    write_file(tmp_path / "own/SOUL.md", "You are Ada's gardener.")
    await provider.gather_facts()
    after = await provider.write_prompt(SUBJECT)
    assert before.startswith("You are Hermes Agent")
    assert after.startswith("You are Ada's gardener.")
    assert reader.count == 1


async def test_concurrent_sessions_share_one_read(tmp_path: Path) -> None:
    reader, shared = Reader(tmp_path), SharedReads()
    write_file(tmp_path / "AGENTS.md", "Of all.")
    providers = [
        WorkspacePromptProvider(reader.settings, reader.workspace, shared_reads=shared)
        for _ in range(10)
    ]
    prompts: list[str] = []

    async def write(provider: WorkspacePromptProvider) -> None:
        prompts.append(await provider.write_prompt(SUBJECT))

    async with anyio.create_task_group() as tasks:
        for provider in providers:
            tasks.start_soon(write, provider)
    assert ("Of all." in prompts[0], len(prompts), len(set(prompts))) == (True, 10, 1)
    assert reader.count <= 2
    write_file(tmp_path / "AGENTS.md", "Of us.")
    late = WorkspacePromptProvider(reader.settings, reader.workspace, shared_reads=shared)
    assert "Of us." in await late.write_prompt(SUBJECT)


async def test_the_user_profile_is_read_when_the_prompt_is_built(tmp_path: Path) -> None:
    provider = WorkspacePromptProvider(make_prompt_config(tmp_path), SessionWorkspace(tmp_path))
    await provider.gather_facts()
    write_file(tmp_path / "own/SOUL.md", "You are Ada's gardener.")
    assert (await provider.write_prompt(SUBJECT)).startswith("You are Ada's gardener.")


async def test_the_project_is_read_when_the_prompt_is_built(tmp_path: Path) -> None:
    provider = WorkspacePromptProvider(make_prompt_config(tmp_path), SessionWorkspace(tmp_path))
    await provider.gather_facts()
    write_file(tmp_path / "AGENTS.md", "Of all.")
    assert "Of all." in await provider.write_prompt(SUBJECT)


async def test_an_unused_prompt_provider_says_so(tmp_path: Path) -> None:
    provider = WorkspacePromptProvider(make_prompt_config(tmp_path), SessionWorkspace(tmp_path))
    assert provider.describe() == "The system prompt is written at the first prompt."
    assert list(provider.take_notices()) == []
    assert provider.project_settings() == {}


async def test_directory_instructions_can_be_found_before_the_prompt_is_built(
    tmp_path: Path,
) -> None:
    write_file(tmp_path / "a/AGENTS.md", "Of a.")
    provider = WorkspacePromptProvider(make_prompt_config(tmp_path), SessionWorkspace(tmp_path))
    found = await provider.find_instructions(Conversation(), {"call": [str(tmp_path / "a/b.txt")]})
    assert {key: each.labels for key, each in found.items()} == {"call": ("a/AGENTS.md",)}


async def test_settings_of_the_first_directory_take_precedence(tmp_path: Path) -> None:
    write_file(tmp_path / "one/.hermes.md", "---\nmode: ask\n---\nOf one.")
    write_file(tmp_path / "two/.hermes.md", "---\nmode: plan\nmodel: large\n---\nOf two.")
    workspace = SessionWorkspace(tmp_path / "one", (tmp_path / "two",))
    provider = WorkspacePromptProvider(make_prompt_config(tmp_path), workspace)
    await provider.write_prompt(SUBJECT)
    assert provider.project_settings() == {"mode": "ask", "model": "large"}


async def test_a_blocked_file_requests_no_settings(tmp_path: Path) -> None:
    write_file(tmp_path / ".hermes.md", f"---\nmode: plan\n---\n{INJECTION}")
    provider = WorkspacePromptProvider(make_prompt_config(tmp_path), SessionWorkspace(tmp_path))
    await provider.write_prompt(SUBJECT)
    assert provider.project_settings() == {}

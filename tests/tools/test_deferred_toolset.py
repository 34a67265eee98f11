"""A first turn needs no tools, and tools that are built later are the ones that it was promised."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import anyio
import pytest

from acp_server.config.values import TurnHook
from acp_server.hooks.rules import HookRules
from acp_server.memory.config import MemoryConfig
from acp_server.models.fixed_catalog import FixedCatalog
from acp_server.models.scripted import ScriptedModel
from acp_server.session.builder import build_session
from acp_server.session.context import SessionContext
from acp_server.session.ports.toolset import SessionToolset
from acp_server.session.ports.user_questions import NoUserAsker
from acp_server.session.workspace import SessionWorkspace
from acp_server.tools import stored_specs
from acp_server.tools.deferred_toolset import PROJECT_FILES, DeferredToolsets
from acp_server.tools.factory import ToolFactory
from acp_server.tools.session_editor import SessionEditor
from acp_server.tools.session_parts import SessionParts
from acp_server.tools.shell.confinement.config import SandboxConfig
from acp_server.tools.stored_specs import FILE, StoredSpecs, digest_of
from acp_server.tools.tool_config import ToolConfig
from acp_server.tools.tool_settings import TerminalConfig, ToolsetConfig
from acp_server.turn.conversation import Text, ToolCall, UserMessage
from tests.permissions.secret_workspace import RecordingUser
from tests.support.fake_editors import NullEditor
from tests.support.server_parts import make_services
from tests.tools.stored_specs_file import stored_specs_text

Change = Callable[[ToolConfig], ToolConfig]


@dataclass(frozen=True, slots=True)
class Deferred:
    """A toolset of one session, and how often its tools were built."""

    toolset: SessionToolset | None
    session: SessionContext
    builds: list[SessionParts]


@asynccontextmanager
async def open_deferred(
    folder: Path, change: Change = lambda config: config, *, has_servers: bool = False
) -> AsyncGenerator[Deferred]:
    for name in ("home", "config", "work"):
        (folder / name).mkdir(exist_ok=True)
    config = change(ToolConfig(folder / "home", folder / "config", {}, ()))
    catalog = FixedCatalog("test", "test", lambda: ScriptedModel("nothing"))
    session = build_session(SessionWorkspace(folder / "work"), make_services(catalog)).context
    deferred = DeferredToolsets(config)
    factory = ToolFactory(config, deferred.shared)
    builds: list[SessionParts] = []
    async with anyio.create_task_group() as tasks:

        async def build(parts: SessionParts) -> SessionToolset:
            builds.append(parts)
            editor = SessionEditor(NullEditor(), RecordingUser(), NoUserAsker())
            return factory.create_toolset(session, editor, tasks, None, parts)

        toolset = await deferred.create(session, build, has_servers=has_servers, has_symbols=False)
        try:
            yield Deferred(toolset, session, builds)
        finally:
            if toolset is not None:
                await toolset.toolbox.close()
            await factory.close()
            tasks.cancel_scope.cancel()


def as_it_is(config: ToolConfig) -> ToolConfig:
    return config


def sandboxed(config: ToolConfig) -> ToolConfig:
    return replace(config, sandbox=SandboxConfig("workspace"))


def without_memory(config: ToolConfig) -> ToolConfig:
    return replace(config, memory=MemoryConfig(is_enabled=False, has_user_profile=False))


def without_web(config: ToolConfig) -> ToolConfig:
    return replace(config, toolsets=ToolsetConfig(disabled=("web", "todo")))


def with_agents(config: ToolConfig) -> ToolConfig:
    folder = config.config_home / "agents"
    folder.mkdir()
    (folder / "tester.md").write_text("---\nname: tester\ndescription: Tests.\n---\nTest.\n")
    return config


def test_the_file_is_made_from_the_tools() -> None:
    command = "uv run python -m tests.tools.stored_specs_file"
    assert FILE.read_text("utf-8") == stored_specs_text(), f"run: {command}"


@pytest.mark.parametrize("change", [as_it_is, sandboxed, without_memory, without_web, with_agents])
async def test_the_specifications_are_those_of_the_tools(tmp_path: Path, change: Change) -> None:
    async with open_deferred(tmp_path, change) as deferred:
        toolset = deferred.toolset
        assert toolset is not None
        await toolset.agents.load()
        promised = toolset.toolbox.specs
        assert not deferred.builds

        await toolset.complete()

        assert len(deferred.builds) == 1
        assert [*toolset.toolbox.specs] == [*promised]
        names = [each.name for each in promised]
        assert ("memory" in names) == (change is not without_memory)
        assert ("web_fetch" in names) == (change is not without_web)
        listed = next(each for each in promised if each.name == "delegate_task").description
        assert ("tester" in listed) == (change is with_agents)


async def test_tools_are_built_once_and_by_the_first_call(tmp_path: Path) -> None:
    async with open_deferred(tmp_path) as deferred:
        assert deferred.toolset is not None
        toolbox = deferred.toolset.accept_other_names(deferred.toolset.toolbox)
        async with anyio.create_task_group() as calls:
            for number in range(3):
                calls.start_soon(toolbox.open, f"call-{number}", "Read", NoSink())
        await deferred.toolset.complete()

        assert len(deferred.builds) == 1


class NoSink:
    """A sink that shows nothing."""

    async def emit(self, event: object) -> None:
        """Show nothing."""

    def emit_now(self, event: object) -> None:
        """Show nothing."""


async def test_a_turn_records_the_changes_of_tools_that_it_built(tmp_path: Path) -> None:
    async with open_deferred(tmp_path) as deferred:
        toolset = deferred.toolset
        assert toolset is not None
        file = tmp_path / "work" / "a.txt"
        deferred.session.checkpoint_ids.create()

        async with toolset.checkpoints.record_turn(UserMessage((Text("write"),))):
            live = await toolset.toolbox.open("call-1", "write_file", NoSink())
            deferred.session.options.set_mode("bypass")
            arguments = '{"path": "a.txt", "content": "hello"}'
            outcome = await live.run(ToolCall("call-1", "write_file", arguments))
        assert not outcome.is_error
        assert file.read_text() == "hello"

        await toolset.checkpoints.undo("", NoSink())
        assert not file.exists()


def with_hook(config: ToolConfig) -> ToolConfig:
    return replace(config, hooks=HookRules(after_turn=(TurnHook(command="true"),)))


def with_provider(config: ToolConfig) -> ToolConfig:
    return replace(config, memory=MemoryConfig(provider="local"))


def with_timeout(config: ToolConfig) -> ToolConfig:
    return replace(config, terminal=TerminalConfig(timeout_seconds=9.0))


def without_delegation(config: ToolConfig) -> ToolConfig:
    return replace(config, toolsets=ToolsetConfig(disabled=("delegate_task",)))


@pytest.mark.parametrize("change", [with_hook, with_provider, with_timeout, without_delegation])
async def test_a_session_that_may_need_more_is_not_deferred(tmp_path: Path, change: Change) -> None:
    async with open_deferred(tmp_path, change) as deferred:
        assert deferred.toolset is None


@pytest.mark.parametrize("name", PROJECT_FILES)
async def test_a_workspace_with_servers_or_rules_is_not_deferred(tmp_path: Path, name: str) -> None:
    file = tmp_path / "work" / name
    file.parent.mkdir(parents=True)
    file.symlink_to("nowhere")
    async with open_deferred(tmp_path) as deferred:
        assert deferred.toolset is None


async def test_a_session_with_servers_is_not_deferred(tmp_path: Path) -> None:
    async with open_deferred(tmp_path, has_servers=True) as deferred:
        assert deferred.toolset is None


def no_change(text: str) -> str:
    return text


def damaged(text: str) -> str:
    return text[: len(text) // 2]


def of_other_sources(text: str) -> str:
    return text.replace(digest_of("acp_server/tools/arguments.py"), "0" * 16)


@pytest.mark.parametrize("change", [no_change, damaged, of_other_sources, None])
async def test_without_the_file_tools_are_built_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[str], str] | None
) -> None:
    file = tmp_path / "specs.json"
    if change is not None:
        file.write_text(change(FILE.read_text("utf-8")), "utf-8")
    monkeypatch.setattr(stored_specs, "FILE", file)
    stored_specs.stored_specs.cache_clear()
    try:
        found: StoredSpecs | None = stored_specs.stored_specs()
        async with open_deferred(tmp_path) as deferred:
            assert (deferred.toolset is None) == (found is None) == (change is not no_change)
    finally:
        stored_specs.stored_specs.cache_clear()

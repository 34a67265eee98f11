"""A session's tools: made once, and closed whenever the session is, whatever comes in between."""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio

from acp_server.models.families import ModelFamily
from acp_server.models.meters import FamilyMeter
from acp_server.session.builder import build_session
from acp_server.session.context import SessionContext
from acp_server.session.ports.mcp_configs import ServerConfig
from acp_server.session.ports.skills import NoSkills
from acp_server.session.ports.toolset import SessionToolset
from acp_server.session.session import Session
from acp_server.session.tools import ESSENTIAL_TOOLS
from acp_server.session.workspace import SessionWorkspace
from acp_server.tools.toolbox import SessionToolbox
from tests.handlers.fake_models import EchoModel
from tests.support.server_parts import FakeModelCatalog, make_services
from tests.turn.turn_harness import FunctionTools, echo_arguments


@dataclass(slots=True)
class SessionToolsHarness:
    """Makes tools and finds skills, each once the test lets it."""

    may_make: anyio.Event = field(default_factory=anyio.Event)
    may_find: anyio.Event = field(default_factory=anyio.Event)
    made: int = 0
    closed: int = 0
    closed_skills: int = 0
    found: int = 0

    async def make(
        self, context: SessionContext, servers: Sequence[ServerConfig]
    ) -> SessionToolset:
        del context, servers
        await self.may_make.wait()
        self.made += 1
        return SessionToolset(SessionToolbox((), close=self.close), skills=SlowSkills(self))

    async def close(self) -> None:
        self.closed += 1

    def session(self) -> Session:
        services = replace(
            make_services(FakeModelCatalog({"one": EchoModel()})),
            toolset=self.make,
        )
        return build_session(SessionWorkspace(Path("/")), services)


class SlowSkills(NoSkills):
    """Skills that are found once the test lets them."""

    def __init__(self, harness: SessionToolsHarness) -> None:
        self._harness = harness

    async def load(self, on_change: Callable[[], None]) -> None:
        del on_change
        await self._harness.may_find.wait()
        self._harness.found += 1

    def close(self) -> None:
        self._harness.closed_skills += 1


async def in_the_middle(
    run_task: Callable[[], Coroutine[object, object, object]],
    meanwhile: Callable[[], Coroutine[object, object, object]],
) -> None:
    """Do something while something else has begun and waits, and end with both done."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run_task)
        await anyio.wait_all_tasks_blocked()
        await meanwhile()


async def test_tools_created_while_their_session_closes_are_closed() -> None:
    harness = SessionToolsHarness()
    session = harness.session()
    harness.may_find.set()

    async def close() -> None:
        await session.close()
        harness.may_make.set()

    await in_the_middle(session.tools.prepare, close)
    assert (harness.made, harness.closed) == (1, 1)


async def test_tools_are_closed_if_their_session_closes_during_the_skill_search() -> None:
    harness = SessionToolsHarness()
    session = harness.session()
    harness.may_make.set()

    async def close() -> None:
        await session.close()
        harness.may_find.set()

    await in_the_middle(session.tools.prepare, close)
    assert (harness.made, harness.closed) == (1, 1)
    # Once with the session, and once more for what was found afterwards.
    assert harness.closed_skills == 2


async def test_a_closed_session_keeps_no_tools_open() -> None:
    harness = SessionToolsHarness()
    session = harness.session()
    harness.may_make.set()
    harness.may_find.set()
    await session.close()
    await session.tools.prepare()
    assert (harness.made, harness.closed) == (1, 1)


async def test_a_cancelled_skill_search_is_repeated() -> None:
    harness = SessionToolsHarness()
    session = harness.session()
    harness.may_make.set()
    with anyio.CancelScope() as scope:

        async def cancel() -> None:
            scope.cancel()

        await in_the_middle(session.tools.prepare, cancel)
    harness.may_find.set()
    await session.tools.prepare()
    await session.tools.prepare()
    assert (harness.made, harness.found) == (1, 1)


async def test_a_model_with_a_small_window_gets_essential_tools_and_the_user_hears_of_it() -> None:
    names = (*sorted(ESSENTIAL_TOOLS), "web_fetch", "delegate_task")
    catalog = FakeModelCatalog(
        {"one": EchoModel()}, shared_meter=FamilyMeter(ModelFamily("small", 8_000, 1_000))
    )
    tools = FunctionTools(**dict.fromkeys(names, echo_arguments))
    session = build_session(SessionWorkspace(Path("/")), make_services(catalog, toolbox=tools))
    for _ in range(2):
        assert await session.tools.names() == ESSENTIAL_TOOLS
    [notice] = session.context.notices.take()
    assert notice.startswith("The context window of one is small")
    await session.close()

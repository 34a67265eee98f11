"""A session's tools: made once, and closed whenever the session is, whatever comes in between."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field, replace
from pathlib import Path

import anyio

from acp_server.session.ports.skills import NoSkills, SkillsPort
from acp_server.session.session import Session, SessionWorkspace
from acp_server.tools.toolbox import SessionToolbox
from acp_server.turn.ports import Toolbox
from tests.handlers.fake_models import EchoModel
from tests.support.server_parts import FakeModelCatalog, make_services


@dataclass(slots=True)
class SessionToolsHarness:
    """Makes tools and finds skills, each once the test lets it."""

    may_make: anyio.Event = field(default_factory=anyio.Event)
    may_find: anyio.Event = field(default_factory=anyio.Event)
    made: int = 0
    closed: int = 0
    found: int = 0

    async def make(self, session: Session) -> Toolbox:
        del session
        await self.may_make.wait()
        self.made += 1
        return SessionToolbox((), close=self.close)

    async def close(self) -> None:
        self.closed += 1

    async def find(self, session: Session) -> SkillsPort:
        del session
        await self.may_find.wait()
        self.found += 1
        return NoSkills()

    def session(self) -> Session:
        given = replace(
            make_services(FakeModelCatalog({"one": EchoModel()})),
            toolbox=self.make,
            skills=self.find,
        )
        return Session(SessionWorkspace(Path("/")), given)


async def in_the_middle(
    begin: Callable[[], Coroutine[object, object, object]],
    meanwhile: Callable[[], Coroutine[object, object, object]],
) -> None:
    """Do something while something else has begun and waits, and end with both done."""
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(begin)
        await anyio.wait_all_tasks_blocked()
        await meanwhile()


async def test_tools_created_while_their_session_closes_are_closed() -> None:
    bench = SessionToolsHarness()
    session = bench.session()
    bench.may_find.set()

    async def close() -> None:
        await session.close()
        bench.may_make.set()

    await in_the_middle(session.prepare, close)
    assert (bench.made, bench.closed) == (1, 1)


async def test_tools_are_closed_if_their_session_closes_during_the_skill_search() -> None:
    bench = SessionToolsHarness()
    session = bench.session()
    bench.may_make.set()

    async def close() -> None:
        await session.close()
        bench.may_find.set()

    await in_the_middle(session.prepare, close)
    assert (bench.made, bench.closed) == (1, 1)


async def test_a_closed_session_keeps_no_tools_open() -> None:
    bench = SessionToolsHarness()
    session = bench.session()
    bench.may_make.set()
    bench.may_find.set()
    await session.close()
    await session.prepare()
    assert (bench.made, bench.closed) == (1, 1)


async def test_a_cancelled_skill_search_is_repeated() -> None:
    bench = SessionToolsHarness()
    session = bench.session()
    bench.may_make.set()
    with anyio.CancelScope() as scope:

        async def cancel() -> None:
            scope.cancel()

        await in_the_middle(session.prepare, cancel)
    bench.may_find.set()
    await session.prepare()
    await session.prepare()
    assert (bench.made, bench.found) == (1, 1)

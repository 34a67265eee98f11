"""When it is quiet: getting ready waits for whoever is being answered, but not for ever."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import anyio
import pytest
from anyio import wait_all_tasks_blocked
from anyio.lowlevel import checkpoint

from acp_server.handlers import agent_connection
from acp_server.handlers.idle import IdleDetector
from acp_server.models.fixed_catalog import FixedCatalog
from acp_server.session.context import SessionContext
from acp_server.session.ports.mcp_configs import ServerConfig
from acp_server.session.ports.toolset import SessionToolset
from acp_server.session.registry import SessionRegistry
from acp_server.tools.toolbox import SessionToolbox
from tests.handlers import expected
from tests.handlers.checked_editor import open_checked_editor
from tests.handlers.fake_models import EchoModel, LateModel
from tests.support.server_parts import MODEL_ID, make_services
from tests.support.timeouts import HANG_TIMEOUT_SECONDS

LONG_SECONDS = 3_600.0


class _OpenRequest:
    """A request that is answered when the test says so."""

    def __init__(self, detector: IdleDetector) -> None:
        self.may_end = anyio.Event()
        self._detector = detector

    async def ask(self) -> None:
        with self._detector.answering():
            await self.may_end.wait()


class _IdleWaiter:
    """Somebody who waits for quiet."""

    def __init__(self, detector: IdleDetector) -> None:
        self._detector = detector
        self.has_ended = False

    async def run(self) -> None:
        await self._detector.wait()
        self.has_ended = True


async def test_the_detector_is_idle_before_any_request() -> None:
    with anyio.move_on_after(0) as scope:
        await IdleDetector(LONG_SECONDS, LONG_SECONDS).wait()
    assert not scope.cancelled_caught


async def test_once_all_is_imported_only_active_requests_are_waited_for() -> None:
    detector = IdleDetector(LONG_SECONDS, LONG_SECONDS)
    request, waiting = _OpenRequest(detector), _IdleWaiter(detector)
    detector.end_quiet()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(request.ask)
        await wait_all_tasks_blocked()
        tasks.start_soon(waiting.run)
        await wait_all_tasks_blocked()
        assert not waiting.has_ended
        request.may_end.set()
    assert waiting.has_ended


async def test_the_detector_is_not_idle_until_the_last_request_is_answered() -> None:
    detector = IdleDetector(0, LONG_SECONDS)
    first, last, waiting = _OpenRequest(detector), _OpenRequest(detector), _IdleWaiter(detector)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(first.ask)
        tasks.start_soon(last.ask)
        await wait_all_tasks_blocked()
        tasks.start_soon(waiting.run)
        first.may_end.set()
        await wait_all_tasks_blocked()
        assert not waiting.has_ended
        last.may_end.set()
    assert waiting.has_ended


async def test_idleness_begins_some_time_after_the_last_response() -> None:
    detector = IdleDetector(LONG_SECONDS, LONG_SECONDS)
    asked = _OpenRequest(detector)
    asked.may_end.set()
    await asked.ask()
    with anyio.move_on_after(0) as scope:
        await detector.wait()
    assert scope.cancelled_caught


async def test_a_failed_request_also_counts_as_finished() -> None:
    detector = IdleDetector(0, LONG_SECONDS)
    with pytest.raises(LookupError), detector.answering():
        raise LookupError
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        await detector.wait()


async def test_the_wait_for_a_permanently_busy_client_is_bounded() -> None:
    detector = IdleDetector(LONG_SECONDS, 0)
    asked = _OpenRequest(detector)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(asked.ask)
        await wait_all_tasks_blocked()
        with anyio.fail_after(HANG_TIMEOUT_SECONDS):
            await detector.wait()
        asked.may_end.set()


async def test_tools_are_built_only_when_idle_unless_a_prompt_needs_them(
    tmp_path: Path,
) -> None:
    made: list[str] = []

    async def build(context: SessionContext, servers: Sequence[ServerConfig]) -> SessionToolset:
        del servers
        await checkpoint()
        made.append(context.id)
        return SessionToolset(SessionToolbox(()))

    catalog = FixedCatalog(MODEL_ID, MODEL_ID, EchoModel)
    registry = SessionRegistry(replace(make_services(catalog), toolset=build))
    session = await registry.open(str(tmp_path), ())
    quiet = anyio.Event()
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(registry.warm_up, session, quiet.wait)
        await wait_all_tasks_blocked()
        assert made == []
        await session.tools.prepare()
        assert made == [session.id]
        quiet.set()
    assert made == [session.id]


class _CountingToolset:
    """Builds tools when the test says so, and counts the sessions that wait for them."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.is_building = anyio.Event()
        self.may_build = anyio.Event()

    async def build(
        self, context: SessionContext, servers: Sequence[ServerConfig]
    ) -> SessionToolset:
        del servers
        self.begun.append(context.id)
        self.is_building.set()
        await self.may_build.wait()
        return SessionToolset(SessionToolbox(()))

    def registry(self) -> SessionRegistry:
        """Return a registry whose sessions get these tools."""
        catalog = FixedCatalog(MODEL_ID, MODEL_ID, EchoModel)
        return SessionRegistry(replace(make_services(catalog), toolset=self.build))


async def test_other_sessions_are_prepared_after_a_prompt_that_is_being_prepared(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(agent_connection, "IdleDetector", partial(IdleDetector, 0, LONG_SECONDS))
    toolset = _CountingToolset()
    async with open_checked_editor(toolset.registry()) as editor:
        first = await editor.new_session()
        asked = editor.start_prompt(first, "Work")
        await toolset.is_building.wait()
        second = await editor.new_session()
        await wait_all_tasks_blocked()
        assert toolset.begun == [first]
        toolset.may_build.set()
        await asked.response()
        await editor.wait_until(lambda: editor.updates_of(second) or None, "commands")
    assert toolset.begun == [first, second]


async def test_a_prompt_that_is_cancelled_delays_no_session(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(agent_connection, "IdleDetector", partial(IdleDetector, 0, LONG_SECONDS))
    toolset = _CountingToolset()
    async with open_checked_editor(toolset.registry()) as editor:
        session = await editor.new_session()
        asked = editor.start_prompt(session, "Work")
        await toolset.is_building.wait()
        editor.cancel(session)
        toolset.may_build.set()
        assert await asked.response() == expected.result_response(3, expected.CANCELLED)
        await editor.wait_until(lambda: editor.updates_of(session) or None, "commands")


async def test_a_turn_that_has_begun_delays_no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agent_connection, "IdleDetector", partial(IdleDetector, 0, LONG_SECONDS))
    model = LateModel()
    async with open_checked_editor(model) as editor:
        asked = editor.start_prompt(await editor.new_session(), "Work")
        await model.is_asked.wait()
        second = await editor.new_session()
        await editor.wait_until(lambda: editor.updates_of(second) or None, "commands")
        model.may_answer.set()
        await asked.response()

"""Prompts that are cancelled at an awkward moment."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import anyio
from pydantic import JsonValue

from acp_server.permissions.trust import TrustStore, TrustVerdict, WorkspaceTrust
from acp_server.session.builder import build_session
from acp_server.session.context import SessionContext
from acp_server.session.ports.archive import SavedSystem
from acp_server.session.prompt_results import PromptResult
from acp_server.session.prompting.provider import FixedPromptProvider
from acp_server.session.services import new_snapshot
from acp_server.session.session import Session
from acp_server.session.workspace import SessionWorkspace
from acp_server.turn.conversation import Text, UserMessage
from acp_server.turn.events import Usage
from acp_server.turn.ports import TextDelta, UsageReported
from tests.support.server_parts import FakeModelCatalog, fixed_prompts, make_services
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.turn.fake_sinks import MemorySink
from tests.turn.turn_harness import ModelRound, RoundModel

HI = UserMessage((Text("hi"),))


async def say(session: Session, results: list[PromptResult]) -> None:
    queued = session.enqueue(HI)
    results.append(await session.prompt(queued, HI, MemorySink(), lambda: None))


async def test_a_prompt_cancelled_while_it_waits_reports_no_usage_of_others() -> None:
    model = RoundModel(ModelRound([UsageReported(Usage(input_tokens=7))], None))
    services = make_services(FakeModelCatalog({"test": model}))
    session = build_session(SessionWorkspace(Path("/")), services)
    first: list[PromptResult] = []
    second: list[PromptResult] = []
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(say, session, first)
            await model.is_blocked.wait()
            tasks.start_soon(say, session, second)
            await anyio.wait_all_tasks_blocked()
            session.cancel()
    assert [result.usage.requests for result in (*first, *second)] == [1, 0]
    assert second[0].usage.usage == Usage()


class ProjectProvider(FixedPromptProvider):
    """The prompt of a project that asks for plan mode."""

    def project_settings(self) -> dict[str, str]:
        return {"mode": "plan"}


class SlowTrustAsker:
    """A user who answers the first question never, and none after it."""

    def __init__(self) -> None:
        self.is_asked = anyio.Event()

    async def ask_trust(self, root: Path, uses: Sequence[str]) -> TrustVerdict | None:
        del root, uses
        self.is_asked.set()
        await anyio.sleep_forever()

    async def ask_use(self, root: Path, phrase: str) -> TrustVerdict | None:
        return await self.ask_trust(root, (phrase,))


async def test_a_projects_requests_survive_a_cancel_during_the_question(tmp_path: Path) -> None:
    store, asker = TrustStore(tmp_path / "trust.json"), SlowTrustAsker()

    def trust(context: SessionContext) -> WorkspaceTrust:
        return WorkspaceTrust(store, asker, context.workspace.cwd)

    services = replace(
        make_services(FakeModelCatalog({"test": RoundModel(ModelRound([TextDelta("Yes.")]))})),
        prompt_provider=fixed_prompts(ProjectProvider()),
        trust=trust,
    )
    session = build_session(SessionWorkspace(tmp_path), services)
    results: list[PromptResult] = []
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(say, session, results)
            await asker.is_asked.wait()
            session.cancel()
        store.save(tmp_path, "trusted")
        await say(session, results)
    assert [result.reason for result in results] == ["cancelled", "end_turn"]
    assert session.context.options.mode == "plan"


class SlowRestore(FixedPromptProvider):
    """A provider whose first check of a stored prompt never ends."""

    def __init__(self) -> None:
        super().__init__()
        self.is_checking = anyio.Event()
        self.checks = 0

    async def restore(self, text: str, state: Mapping[str, JsonValue]) -> bool:
        del text, state
        self.checks += 1
        self.is_checking.set()
        if self.checks == 1:
            await anyio.sleep_forever()
        return False


async def test_a_cancelled_check_of_a_stored_prompt_is_repeated(tmp_path: Path) -> None:
    provider, workspace = SlowRestore(), SessionWorkspace(tmp_path)
    model = RoundModel(ModelRound([TextDelta("Yes.")]))
    services = replace(
        make_services(FakeModelCatalog({"test": model})), prompt_provider=fixed_prompts(provider)
    )
    empty = new_snapshot(workspace, services)
    stored = SavedSystem("outdated", "test", datetime.now(UTC), {"tools": []})
    snapshot = replace(empty, facts=replace(empty.facts, system=stored))
    session = build_session(workspace, services, snapshot)
    results: list[PromptResult] = []
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(say, session, results)
            await provider.is_checking.wait()
            session.cancel()
        await say(session, results)
    assert (provider.checks, [result.reason for result in results]) == (
        2,
        ["cancelled", "end_turn"],
    )
    assert [request.system for request in model.requests] == [""]

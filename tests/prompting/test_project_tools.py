"""A trusted project has fewer tools: from the first call of the model on, and the prompt fits."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from acp_server.permissions.trust import TrustStore, TrustVerdict, WorkspaceTrust
from acp_server.session.builder import build_session
from acp_server.session.context import SessionContext
from acp_server.session.ports.archive import SessionFacts
from acp_server.session.ports.null_archive import NullJournal
from acp_server.session.prompting.lazy_prompting import lazy_prompt_provider
from acp_server.session.services import SessionSnapshot, new_snapshot
from acp_server.session.workspace import SessionWorkspace
from acp_server.turn.conversation import Text, UserMessage
from acp_server.turn.events import MessageChunk
from acp_server.turn.ports import ModelRequest, TextDelta
from tests.prompting.prompted_session import make_prompt_config, write_file
from tests.support.server_parts import FakeModelCatalog, make_services
from tests.support.user_texts import WORKSPACE_NOT_TRUSTED
from tests.turn.fake_sinks import MemorySink
from tests.turn.turn_harness import FunctionTools, ModelRound, RoundModel, echo_arguments

NAMES = ("read_file", "todo", "terminal")


class FactsJournal(NullJournal):
    """Keeps the facts of a session alone."""

    facts: SessionFacts | None = None

    def update(self, facts: SessionFacts) -> None:
        self.facts = facts


class UnavailableTrustAsker:
    """Cannot be asked."""

    async def ask_trust(self, root: Path, uses: Sequence[str]) -> TrustVerdict | None:
        del root, uses

    async def ask_use(self, root: Path, phrase: str) -> TrustVerdict | None:
        return await self.ask_trust(root, (phrase,))


class Project:
    """A session in a workspace with settings, trusted or not."""

    def __init__(
        self,
        folder: Path,
        frontmatter: str,
        *,
        is_trusted: bool = True,
        past: SessionSnapshot | None = None,
    ) -> None:
        write_file(folder / ".hermes.md", f"---\n{frontmatter}\n---\nBe kind.")
        self.model = RoundModel(ModelRound([TextDelta("Yes.")]))
        store = TrustStore(folder / "trust.json")
        if is_trusted:
            store.save(folder, "trusted")

        def trust(session: SessionContext) -> WorkspaceTrust:
            return WorkspaceTrust(store, UnavailableTrustAsker(), session.workspace.cwd)

        tools = FunctionTools(
            read_file=echo_arguments, todo=echo_arguments, terminal=echo_arguments
        )
        catalog = FakeModelCatalog({"test": self.model})
        services = replace(
            make_services(catalog, toolbox=tools),
            prompt_provider=partial(lazy_prompt_provider, make_prompt_config(folder)),
            trust=trust,
        )
        self.journal = FactsJournal()
        snapshot = replace(
            past or new_snapshot(SessionWorkspace(folder), services), journal=self.journal
        )
        self.session = build_session(SessionWorkspace(folder), services, snapshot)
        self.sink = MemorySink()

    def past_sessions(self) -> SessionSnapshot:
        """What another process would find of it."""
        assert self.journal.facts is not None
        return SessionSnapshot(
            self.journal.facts, tuple(self.session.context.conversation), self.journal
        )

    async def send_prompt(self) -> ModelRequest:
        message = UserMessage((Text("hi"),))
        await self.session.prompt(self.session.enqueue(message), message, self.sink, lambda: None)
        return self.model.requests[-1]


def names(request: ModelRequest) -> tuple[str, ...]:
    return tuple(spec.name for spec in request.tools)


async def test_the_tool_set_is_narrowed_from_the_first_call_on(tmp_path: Path) -> None:
    project = Project(tmp_path, "tools: [terminal, read_file]")
    first, second = await project.send_prompt(), await project.send_prompt()
    assert names(first) == ("read_file", "terminal")
    assert (second.system, second.tools) == (first.system, first.tools)
    assert second.messages[: len(first.messages)] == first.messages


async def test_the_system_prompt_matches_the_narrowed_tools(tmp_path: Path) -> None:
    unrestricted = await Project(tmp_path, "mode: ask").send_prompt()
    few = await Project(tmp_path, "tools: [read_file]").send_prompt()
    assert ("todo" in unrestricted.system, "todo" in few.system) == (True, False)


async def test_the_names_of_preferred_skills_are_stored(tmp_path: Path) -> None:
    project = Project(tmp_path, "skills: [review, naming]")
    assert project.session.context.restrictions.preferred_skills == ()
    await project.send_prompt()
    assert project.session.context.restrictions.preferred_skills == ("review", "naming")


@pytest.mark.parametrize("frontmatter", ["tools: [read_file]", "skills: [review]"])
async def test_an_untrusted_project_is_named_and_narrows_nothing(
    tmp_path: Path, frontmatter: str
) -> None:
    project = Project(tmp_path, frontmatter, is_trusted=False)
    assert names(await project.send_prompt()) == NAMES
    assert project.session.context.restrictions.preferred_skills == ()
    assert WORKSPACE_NOT_TRUSTED in str(project.sink.events[0])


async def test_a_resumed_session_has_the_same_tools_and_prompt(
    tmp_path: Path,
) -> None:
    earlier = Project(tmp_path, "tools: [read_file]")
    before = await earlier.send_prompt()
    later = Project(tmp_path, "tools: [read_file]", past=earlier.past_sessions())
    after = await later.send_prompt()
    assert (after.system, after.tools) == (before.system, before.tools)
    assert after.messages[: len(before.messages)] == before.messages
    assert [type(event) for event in later.sink.events] == [MessageChunk]

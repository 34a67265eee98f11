"""A trusted project has fewer tools: from the first call of the model on, and the prompt fits."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from acp_server.permissions.trust import TrustKeeper, TrustStore, Verdict
from acp_server.session.ports.archive import SessionFacts
from acp_server.session.ports.null_archive import UnkeptJournal
from acp_server.session.prompting.workspace_prompt import ProjectBriefing
from acp_server.session.services import Past, Workspace, beginning
from acp_server.session.session import Session
from acp_server.turn.conversation import Text, UserMessage
from acp_server.turn.events import MessageChunk
from acp_server.turn.ports import ModelRequest, TextDelta
from tests.prompting.prompted_session import file, prompt_settings
from tests.support.server_parts import Shelf, equipment
from tests.turn.fake_sinks import RecordingSink
from tests.turn.turn_harness import Playing, Round, Tools, echo

NAMES = ("read_file", "todo", "terminal")


class FactsJournal(UnkeptJournal):
    """Keeps the facts of a session alone."""

    facts: SessionFacts | None = None

    def update(self, facts: SessionFacts) -> None:
        self.facts = facts


class Nobody:
    """Cannot be asked."""

    async def ask_trust(self, root: Path, uses: Sequence[str]) -> Verdict | None:
        del root, uses


class Project:
    """A session in a workspace with settings, trusted or not."""

    def __init__(
        self,
        folder: Path,
        frontmatter: str,
        *,
        is_trusted: bool = True,
        past: Past | None = None,
    ) -> None:
        file(folder / ".hermes.md", f"---\n{frontmatter}\n---\nBe kind.")
        self.model = Playing(Round([TextDelta("Yes.")]))
        store = TrustStore(folder / "trust.json")
        if is_trusted:
            store.say(folder, "trusted")

        def trust(session: Session) -> TrustKeeper:
            return TrustKeeper(store, Nobody(), session.workspace.cwd)

        def briefing(workspace: Workspace) -> ProjectBriefing:
            return ProjectBriefing(prompt_settings(folder), workspace)

        tools = Tools(read_file=echo, todo=echo, terminal=echo)
        shelf = Shelf({"test": self.model})
        equipped = replace(equipment(shelf, toolbox=tools), briefing=briefing, trust=trust)
        self.journal = FactsJournal()
        begun = replace(past or beginning(Workspace(folder), equipped), journal=self.journal)
        self.session = Session(Workspace(folder), equipped, begun)
        self.sink = RecordingSink()

    def past(self) -> Past:
        """What another process would find of it."""
        assert self.journal.facts is not None
        return Past(self.journal.facts, tuple(self.session.conversation), self.journal)

    async def say(self) -> ModelRequest:
        message = UserMessage((Text("hi"),))
        await self.session.prompt(self.session.admit(message), message, self.sink, lambda: None)
        return self.model.requests[-1]


def names(request: ModelRequest) -> tuple[str, ...]:
    return tuple(spec.name for spec in request.tools)


async def test_the_tools_are_fewer_from_the_first_call_on_and_stay_so(tmp_path: Path) -> None:
    project = Project(tmp_path, "tools: [terminal, read_file]")
    first, second = await project.say(), await project.say()
    assert names(first) == ("read_file", "terminal")
    assert (second.system, second.tools) == (first.system, first.tools)
    assert second.messages[: len(first.messages)] == first.messages


async def test_the_system_prompt_is_the_one_for_these_tools(tmp_path: Path) -> None:
    whole = await Project(tmp_path, "mode: ask").say()
    few = await Project(tmp_path, "tools: [read_file]").say()
    assert ("todo" in whole.system, "todo" in few.system) == (True, False)


async def test_the_names_of_preferred_skills_are_kept(tmp_path: Path) -> None:
    project = Project(tmp_path, "skills: [review, naming]")
    assert project.session.preferred_skills == ()
    await project.say()
    assert project.session.preferred_skills == ("review", "naming")


@pytest.mark.parametrize("frontmatter", ["tools: [read_file]", "skills: [review]"])
async def test_a_project_that_is_not_trusted_is_named_and_narrows_nothing(
    tmp_path: Path, frontmatter: str
) -> None:
    project = Project(tmp_path, frontmatter, is_trusted=False)
    assert names(await project.say()) == NAMES
    assert project.session.preferred_skills == ()
    assert "the workspace is not trusted" in str(project.sink.events[0])


async def test_a_session_that_is_taken_up_again_has_the_same_tools_and_prompt(
    tmp_path: Path,
) -> None:
    former = Project(tmp_path, "tools: [read_file]")
    before = await former.say()
    later = Project(tmp_path, "tools: [read_file]", past=former.past())
    after = await later.say()
    assert (after.system, after.tools) == (before.system, before.tools)
    assert after.messages[: len(before.messages)] == before.messages
    assert [type(event) for event in later.sink.events] == [MessageChunk]

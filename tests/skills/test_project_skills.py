"""What a trusted project says of skills: those it prefers, and those it brings."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from acp_server.permissions.trust import TrustStore, TrustVerdict, WorkspaceTrust
from acp_server.session.builder import build_session
from acp_server.session.context import SessionContext
from acp_server.session.ports.skills import NoSkills, SkillIndexRequest
from acp_server.session.prompting.lazy_prompting import lazy_prompt_provider
from acp_server.session.workspace import SessionWorkspace
from acp_server.turn.conversation import Text, UserMessage
from acp_server.turn.ports import ModelRequest, TextDelta
from tests.prompting.prompted_session import make_prompt_config, write_file
from tests.support.server_parts import FakeModelCatalog, fixed_toolset, make_services
from tests.support.user_texts import WORKSPACE_NOT_TRUSTED
from tests.turn.fake_sinks import MemorySink
from tests.turn.turn_harness import FunctionTools, ModelRound, RoundModel, echo_arguments


class KnownSkills(NoSkills):
    """Writes an index that says what it was written for."""

    def __init__(self, store: TrustStore, root: Path, brought: Sequence[str]) -> None:
        self.requests: list[SkillIndexRequest] = []
        self._store = store
        self._root = root
        self._brought = brought

    async def index(self, request: SkillIndexRequest) -> str:
        self.requests.append(request)
        project_skills: Sequence[str] = () if await self.untrusted_names() else self._brought
        return f"Skills: {', '.join([*project_skills, *request.preferred])}."

    async def untrusted_names(self) -> Sequence[str]:
        return () if self._store.verdict(self._root) == "trusted" else self._brought


class RecordingTrustAsker:
    """Says yes or no, and keeps what it was asked about."""

    def __init__(self, verdict: TrustVerdict) -> None:
        self.asked: list[Sequence[str]] = []
        self._verdict: TrustVerdict = verdict

    async def ask_trust(self, root: Path, uses: Sequence[str]) -> TrustVerdict | None:
        del root
        self.asked.append(uses)
        return self._verdict

    async def ask_use(self, root: Path, phrase: str) -> TrustVerdict | None:
        return await self.ask_trust(root, (phrase,))


class Project:
    """A session in a workspace that brings skills, or prefers some."""

    def __init__(
        self,
        folder: Path,
        verdict: TrustVerdict,
        frontmatter: str = "",
        brought: Sequence[str] = (),
    ) -> None:
        if frontmatter:
            write_file(folder / ".hermes.md", f"---\n{frontmatter}\n---\nBe kind.")
        self.model = RoundModel(ModelRound([TextDelta("Yes.")]))
        self.asker, self.sink = RecordingTrustAsker(verdict), MemorySink()
        store = TrustStore(folder / "trust.json")
        self.skills = KnownSkills(store, folder, brought)

        def trust(session: SessionContext) -> WorkspaceTrust:
            return WorkspaceTrust(store, self.asker, session.workspace.cwd)

        services = replace(
            make_services(FakeModelCatalog({"test": self.model})),
            toolset=fixed_toolset(
                FunctionTools(read_file=echo_arguments, skill_view=echo_arguments), self.skills
            ),
            prompt_provider=partial(lazy_prompt_provider, make_prompt_config(folder)),
            trust=trust,
        )
        self.session = build_session(SessionWorkspace(folder), services)

    async def send_prompt(self) -> ModelRequest:
        message = UserMessage((Text("hi"),))
        await self.session.prompt(self.session.enqueue(message), message, self.sink, lambda: None)
        return self.model.requests[-1]


async def test_preferred_skills_are_in_the_first_prompt_and_stay_there(tmp_path: Path) -> None:
    project = Project(tmp_path, "trusted", "skills: [review, naming]")
    first, second = await project.send_prompt(), await project.send_prompt()
    assert "Skills: review, naming." in first.system
    assert second.system == first.system
    assert project.asker.asked == [("skills: review, naming",)]


async def test_project_skills_are_used_from_the_first_prompt_on(
    tmp_path: Path,
) -> None:
    project = Project(tmp_path, "trusted", brought=("deploy",))
    first, second = await project.send_prompt(), await project.send_prompt()
    assert "Skills: deploy." in first.system
    assert second.system == first.system
    assert project.asker.asked == [("skills of its own: deploy",)]


async def test_skills_of_a_declined_project_are_named_and_not_used(tmp_path: Path) -> None:
    brought = [f"skill-{number}" for number in range(12)]
    project = Project(tmp_path, "declined", brought=brought)
    assert "Skills: ." in (await project.send_prompt()).system
    notice = str(project.sink.events[0])
    assert f"The project has skills of its own: {', '.join(brought[:10])} and 2 more" in notice
    assert WORKSPACE_NOT_TRUSTED in notice

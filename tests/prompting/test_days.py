"""A day that begins while a session goes on is said with a prompt; what was sent stays."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from acp_server.session.builder import build_session
from acp_server.session.ports.observer import ShowNotice
from acp_server.session.prompting.day_change import remark_on_day
from acp_server.session.prompting.provider import PromptProvider, SystemPromptRequest
from acp_server.session.prompting.workspace_prompt import WorkspacePromptProvider
from acp_server.session.workspace import SessionWorkspace
from acp_server.startup.lazy_value import Lazy
from acp_server.turn.conversation import AssistantMessage, Conversation, Message, Text, UserMessage
from acp_server.turn.ports import ModelRequest, TextDelta
from tests.prompting.prompted_session import make_prompt_config
from tests.support.server_parts import FakeModelCatalog, make_services
from tests.turn.fake_sinks import MemorySink
from tests.turn.turn_harness import HI, ModelRound, RoundModel

EVE, DAY, NEXT = date(2026, 11, 21), date(2026, 11, 22), date(2026, 11, 23)
ON_DAY = Text("[It is another day now: Sunday, November 22, 2026.]")
ON_NEXT = Text("[It is another day now: Monday, November 23, 2026.]")
SUBJECT = SystemPromptRequest("test", None, frozenset())


class Calendar:
    """A clock that shows the day which the test says."""

    def __init__(self) -> None:
        self.day = EVE

    def today(self) -> date:
        return self.day


class CalendarSession:
    """A session with a real briefing, whose calendar can be turned."""

    def __init__(self, folder: Path) -> None:
        self.calendar = Calendar()
        self.model = RoundModel(ModelRound([TextDelta("Yes.")]))
        settings = make_prompt_config(folder)

        def make_provider(
            workspace: SessionWorkspace, show_notice: ShowNotice
        ) -> Lazy[PromptProvider]:
            provider = WorkspacePromptProvider(
                settings, workspace, today=self.calendar.today, show_notice=show_notice
            )
            return Lazy[PromptProvider].of(provider)

        services = replace(
            make_services(FakeModelCatalog({"test": self.model})), prompt_provider=make_provider
        )
        self.session = build_session(SessionWorkspace(folder), services)

    async def send_prompt(self, text: str = "hi") -> ModelRequest:
        message = UserMessage((Text(text),))
        ticket = self.session.enqueue(message)
        await self.session.prompt(ticket, message, MemorySink(), lambda: None)
        return self.model.requests[-1]


async def test_a_new_day_is_announced_once_after_the_next_prompt_without_other_changes(
    tmp_path: Path,
) -> None:
    session = CalendarSession(tmp_path)
    first = await session.send_prompt()
    session.calendar.day = DAY
    second = await session.send_prompt()
    third = await session.send_prompt()
    assert "Today is Saturday, November 21, 2026." in first.system
    assert {second.system, third.system} == {first.system}
    assert (second.tools, third.tools) == (first.tools, first.tools)
    assert second.messages[: len(first.messages)] == first.messages
    assert third.messages[: len(second.messages)] == second.messages
    assert first.messages == (HI,)
    assert second.messages[-1] == UserMessage((Text("hi"), ON_DAY))
    assert third.messages[-1] == HI


async def test_a_session_opened_before_midnight_announces_the_new_day(
    tmp_path: Path,
) -> None:
    session = CalendarSession(tmp_path)
    await (await session.session.prompting.provider.get()).gather_facts()
    session.calendar.day = DAY
    request = await session.send_prompt()
    assert "Today is Sunday, November 22, 2026." in request.system
    assert request.messages == (HI,)


async def test_a_rebuilt_prompt_names_the_day_without_an_announcement(
    tmp_path: Path,
) -> None:
    session = CalendarSession(tmp_path)
    await session.send_prompt()
    session.calendar.day = DAY
    await session.send_prompt("/reload")
    request = await session.send_prompt()
    assert "Today is Sunday, November 22, 2026." in request.system
    assert request.messages[-1] == HI


async def test_another_process_continues_from_the_day_in_the_prompt(tmp_path: Path) -> None:
    calendar = Calendar()
    earlier = WorkspacePromptProvider(
        make_prompt_config(tmp_path), SessionWorkspace(tmp_path), today=calendar.today
    )
    text = await earlier.write_prompt(SUBJECT)
    later = WorkspacePromptProvider(
        make_prompt_config(tmp_path), SessionWorkspace(tmp_path), today=calendar.today
    )
    assert await later.restore(text, earlier.state())
    assert later.prompt_remarks(Conversation()) == ()
    calendar.day = DAY
    assert later.prompt_remarks(Conversation()) == (ON_DAY.text,)


@pytest.mark.parametrize(
    ("said", "written", "expected"),
    [
        ([], EVE, ON_NEXT),
        ([], NEXT, None),
        ([], None, ON_NEXT),
        ([UserMessage((ON_DAY,))], EVE, ON_NEXT),
        ([UserMessage((ON_DAY,))], NEXT, ON_NEXT),
        ([UserMessage((ON_DAY,)), UserMessage((Text("hi"), ON_NEXT))], EVE, None),
        ([AssistantMessage((ON_NEXT,))], EVE, ON_NEXT),
        ([UserMessage((Text(f"They said {ON_NEXT.text}"),))], EVE, ON_NEXT),
    ],
    ids=[
        "nothing was said",
        "the prompt names it",
        "the prompt's day is not known",
        "the day before was said",
        "the day before was said last, whatever the prompt names",
        "it was said",
        "the model said it",
        "the user quoted it",
    ],
)
def test_the_announced_day_is_read_from_the_conversation(
    said: Sequence[Message], written: date | None, expected: Text | None
) -> None:
    conversation = Conversation()
    conversation.rebuild(said)
    assert remark_on_day(conversation, written, NEXT) == ("" if expected is None else expected.text)

"""A session's model and thought level: what is chosen, and what holds."""

from dataclasses import replace
from pathlib import Path

import pytest

from acp_server.session.errors import InvalidValueError, UnknownOptionError
from acp_server.session.options import Choice, Option
from acp_server.session.session import Session, Workspace
from acp_server.turn.conversation import Text, UserMessage
from acp_server.turn.ports import ModelRequest
from tests.handlers.models import Echo
from tests.support.engine import Shelf, equipment
from tests.turn.playing import Playing, Round
from tests.turn.recording import RecordingSink

HI = UserMessage((Text("hi"),))


def shelf() -> Shelf:
    return Shelf(
        {"big": Echo(), "small": Echo(), "plain": Echo()},
        levels={"big": ("low", "medium", "high"), "small": ("low", "high")},
    )


def session_of(catalog: Shelf) -> Session:
    return Session(Workspace(Path("/")), equipment(catalog))


def current(session: Session) -> dict[str, str]:
    return {option.id: option.current for option in session.options}


async def ask(session: Session) -> None:
    await session.prompt(session.admit(), HI, RecordingSink(), lambda: None)


def test_a_session_begins_with_the_default_model_and_its_own_level() -> None:
    session = session_of(shelf())
    assert current(session) == {"mode": "ask", "model": "big", "thought_level": "high"}
    assert session.options[1:] == (
        Option(
            "model",
            "Model",
            "Who answers",
            "model",
            "big",
            (Choice("big", "BIG", ""), Choice("small", "SMALL", ""), Choice("plain", "PLAIN", "")),
        ),
        Option(
            "thought_level",
            "Thinking",
            "How deeply the model thinks before it answers",
            "thought_level",
            "high",
            (Choice("low", "Low", ""), Choice("medium", "Medium", ""), Choice("high", "High", "")),
        ),
    )


def test_a_chosen_level_holds_wherever_a_model_has_it_and_comes_back() -> None:
    session = session_of(shelf())
    session.set_option("thought_level", "medium")
    found = [session.thought_level]
    for model_id in ("small", "plain", "big"):
        session.set_option("model", model_id)
        found.append(session.thought_level)
    assert found == ["medium", "high", None, "medium"]


def test_a_model_that_thinks_as_it_does_has_no_picker_for_it() -> None:
    session = session_of(shelf())
    session.set_option("model", "plain")
    assert current(session) == {"mode": "ask", "model": "plain"}
    with pytest.raises(UnknownOptionError) as raised:
        session.set_option("thought_level", "low")
    assert str(raised.value) == (
        "unknown configuration option 'thought_level'; there are mode, model"
    )


@pytest.mark.parametrize(
    ("option_id", "value", "known"),
    [
        ("model", "huge", "big, small, plain"),
        ("model", "", "big, small, plain"),
        ("model", True, "big, small, plain"),
        ("thought_level", "deep", "low, medium, high"),
        ("thought_level", False, "low, medium, high"),
    ],
)
def test_an_unknown_value_is_refused_and_changes_nothing(
    *, option_id: str, value: str | bool, known: str
) -> None:
    session = session_of(shelf())
    before = session.options
    with pytest.raises(InvalidValueError) as raised:
        session.set_option(option_id, value)
    assert str(raised.value) == f"{value!r} is no value of {option_id!r}; there are {known}"
    assert session.options == before


def test_a_level_that_another_model_has_is_unknown_to_this_one() -> None:
    session = session_of(shelf())
    session.set_option("model", "small")
    with pytest.raises(InvalidValueError):
        session.set_option("thought_level", "medium")


async def test_the_default_model_is_the_one_that_is_known_by_now() -> None:
    catalog = Shelf({"stand-in": Echo()})
    session, chosen = session_of(catalog), session_of(catalog)
    chosen.set_option("model", "stand-in")
    catalog.models = {"better": Echo()}
    assert (session.model_id, chosen.model_id) == ("better", "better")
    assert chosen.options[1].choices == (Choice("better", "BETTER", ""),)


async def test_a_chosen_model_stays_chosen_while_it_can_be_had() -> None:
    catalog = Shelf({"first": Echo(), "second": Echo()})
    session = session_of(catalog)
    session.set_option("model", "first")
    catalog.models = {"newer": Echo(), "first": Echo()}
    assert session.model_id == "first"


async def test_each_turn_asks_the_model_and_the_level_that_are_chosen_when_it_begins() -> None:
    models = {name: Playing(Round()) for name in ("big", "small")}
    session = session_of(Shelf(models, levels={"big": ("low", "high"), "small": ("high",)}))
    await ask(session)
    session.set_option("thought_level", "low")
    await ask(session)
    session.set_option("model", "small")
    await ask(session)
    levels = {
        name: [request.thought_level for request in model.requests]
        for name, model in models.items()
    }
    assert levels == {"big": ["high", "low"], "small": ["high"]}


async def test_the_system_prompt_is_written_once_at_the_first_turn() -> None:
    written: list[Workspace] = []

    async def write(workspace: Workspace) -> str:
        written.append(workspace)
        return f"prompt {len(written)}"

    model = Playing(Round())
    workspace = Workspace(Path("/"))
    given = replace(equipment(Shelf({"one": model})), system_prompt=write)
    session = Session(workspace, given)
    assert written == []
    await ask(session)
    await ask(session)
    assert written == [workspace]
    assert [request.system for request in model.requests] == ["prompt 1", "prompt 1"]
    assert model.requests[0] == ModelRequest((HI,), "prompt 1")

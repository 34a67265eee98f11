"""A session's model and thought level: what is chosen, and what holds."""

from dataclasses import replace
from pathlib import Path

import anyio
import pytest

from acp_server.models.meters import NullMeter
from acp_server.session.builder import build_session
from acp_server.session.errors import InvalidValueError, UnknownOptionError
from acp_server.session.ports.archive import SessionFacts
from acp_server.session.project.choices import SelectedOptions
from acp_server.session.project.options import Option, OptionValue
from acp_server.session.prompting.provider import FixedPromptProvider, SystemPromptRequest
from acp_server.session.services import SessionSnapshot
from acp_server.session.session import Session
from acp_server.session.workspace import SessionWorkspace
from acp_server.turn.conversation import AssistantMessage, Text, UserMessage
from acp_server.turn.ports import ModelRequest, TextDelta, ThinkingDelta, ThinkingSigned
from tests.handlers import expected
from tests.handlers.fake_models import EchoModel
from tests.support.server_parts import FakeModelCatalog, fixed_prompts, make_services
from tests.support.user_texts import NOT_A_VALUE_OF
from tests.turn.fake_sinks import MemorySink
from tests.turn.turn_harness import ModelRound, RoundModel

HI = UserMessage((Text("hi"),))


def make_catalog() -> FakeModelCatalog:
    return FakeModelCatalog(
        {"big": EchoModel(), "small": EchoModel(), "plain": EchoModel()},
        levels={"big": ("low", "medium", "high"), "small": ("low", "high")},
    )


def session_of(catalog: FakeModelCatalog) -> Session:
    return build_session(SessionWorkspace(Path("/")), make_services(catalog))


def current(session: Session) -> dict[str, str]:
    return {option.id: option.current for option in session.context.options.options}


async def send_prompt(session: Session) -> None:
    await session.prompt(session.enqueue(HI), HI, MemorySink(), lambda: None)


def test_a_session_starts_with_the_default_model_and_its_default_level() -> None:
    session = session_of(make_catalog())
    assert current(session) == {"mode": "ask", "model": "big", "thought_level": "high"}
    assert session.context.options.options[1:] == (
        Option(
            "model",
            "Model",
            expected.MODEL_DESCRIPTION,
            "model",
            "big",
            (
                OptionValue("big", "BIG", ""),
                OptionValue("small", "SMALL", ""),
                OptionValue("plain", "PLAIN", ""),
            ),
        ),
        Option(
            "thought_level",
            "Thinking",
            expected.THOUGHT_DESCRIPTION,
            "thought_level",
            "high",
            (
                OptionValue("low", "Low", ""),
                OptionValue("medium", "Medium", ""),
                OptionValue("high", "High", ""),
            ),
        ),
    )


def test_a_chosen_level_applies_to_every_model_that_supports_it() -> None:
    session = session_of(make_catalog())
    session.context.options.set_option("thought_level", "medium")
    found = [session.context.options.thought_level]
    for model_id in ("small", "plain", "big"):
        session.context.options.set_option("model", model_id)
        found.append(session.context.options.thought_level)
    assert found == ["medium", "high", None, "medium"]


def test_a_model_with_fixed_thinking_has_no_level_picker() -> None:
    session = session_of(make_catalog())
    session.context.options.set_option("model", "plain")
    assert current(session) == {"mode": "ask", "model": "plain"}
    with pytest.raises(UnknownOptionError) as raised:
        session.context.options.set_option("thought_level", "low")
    assert str(raised.value) == (
        "unknown configuration option 'thought_level'; choose one of mode, model"
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
def test_an_unknown_value_is_rejected_without_changes(
    *, option_id: str, value: str | bool, known: str
) -> None:
    session = session_of(make_catalog())
    before = session.context.options.options
    with pytest.raises(InvalidValueError) as raised:
        session.context.options.set_option(option_id, value)
    assert str(raised.value) == f"{value!r} {NOT_A_VALUE_OF} {option_id!r}; choose one of {known}"
    assert session.context.options.options == before


async def test_waiting_for_a_model_list_times_out() -> None:
    catalog = FakeModelCatalog(
        {"big": EchoModel()}, models_after_refresh={"huge": EchoModel()}, refresh_gate=anyio.Event()
    )
    choices = SelectedOptions(catalog, "ask", list_seconds=0.01)
    assert choices.await_model_list("model", "huge")
    with pytest.raises(InvalidValueError):
        await choices.select_awaited_model("huge")
    assert choices.model_id == "big"


def test_a_level_of_another_model_is_unknown_to_this_one() -> None:
    session = session_of(make_catalog())
    session.context.options.set_option("model", "small")
    with pytest.raises(InvalidValueError):
        session.context.options.set_option("thought_level", "medium")


async def test_the_default_model_is_the_currently_known_one() -> None:
    catalog = FakeModelCatalog({"stand-in": EchoModel()})
    session, chosen = session_of(catalog), session_of(catalog)
    chosen.context.options.set_option("model", "stand-in")
    catalog.models = {"better": EchoModel()}
    assert (session.context.options.model_id, chosen.context.options.model_id) == (
        "better",
        "better",
    )
    assert chosen.context.options.options[1].values == (OptionValue("better", "BETTER", ""),)


async def test_a_chosen_model_stays_selected_while_available() -> None:
    catalog = FakeModelCatalog({"first": EchoModel(), "second": EchoModel()})
    session = session_of(catalog)
    session.context.options.set_option("model", "first")
    catalog.models = {"newer": EchoModel(), "first": EchoModel()}
    assert session.context.options.model_id == "first"


async def test_each_turn_uses_the_model_and_level_selected_when_it_starts() -> None:
    models = {name: RoundModel(ModelRound([TextDelta("Done.")])) for name in ("big", "small")}
    session = session_of(
        FakeModelCatalog(models, levels={"big": ("low", "high"), "small": ("high",)})
    )
    await send_prompt(session)
    session.context.options.set_option("thought_level", "low")
    await send_prompt(session)
    session.context.options.set_option("model", "small")
    await send_prompt(session)
    levels = {
        name: [request.thought_level for request in model.requests]
        for name, model in models.items()
    }
    assert levels == {"big": ["high", "low"], "small": ["high"]}


class CountingPromptProvider(FixedPromptProvider):
    """Numbers its prompts, and remembers for whom each was written."""

    def __init__(self) -> None:
        super().__init__()
        self.subjects: list[SystemPromptRequest] = []

    async def write_prompt(self, request: SystemPromptRequest) -> str:
        """Return the next one."""
        self.subjects.append(request)
        return f"prompt {len(self.subjects)}"


def briefed(provider: CountingPromptProvider, catalog: FakeModelCatalog) -> Session:
    """A session with this briefing."""

    return build_session(
        SessionWorkspace(Path("/")),
        replace(make_services(catalog), prompt_provider=fixed_prompts(provider)),
    )


async def test_the_system_prompt_is_built_once_at_the_first_turn() -> None:
    provider, model = CountingPromptProvider(), RoundModel(ModelRound([TextDelta("Done.")]))
    session = briefed(provider, FakeModelCatalog({"one": model}))
    assert provider.subjects == []
    await send_prompt(session)
    await send_prompt(session)
    assert provider.subjects == [SystemPromptRequest("one", NullMeter().window_tokens, frozenset())]
    assert [request.system for request in model.requests] == ["prompt 1", "prompt 1"]
    assert replace(model.requests[0], tools=()) == ModelRequest((HI,), "prompt 1")


async def test_another_model_has_its_own_prompt_and_none_of_the_former_reasoning() -> None:
    """Caches and the signatures of thoughts are a model's own."""
    thinking = ModelRound([ThinkingDelta("Hm."), ThinkingSigned("signature"), TextDelta("Yes.")])
    one, two = RoundModel(thinking), RoundModel(thinking)
    provider = CountingPromptProvider()
    session = briefed(provider, FakeModelCatalog({"one": one, "two": two}))
    await send_prompt(session)
    session.context.options.set_option("model", "two")
    await send_prompt(session)
    assert [subject.model_id for subject in provider.subjects] == ["one", "two"]
    [request] = two.requests
    assert request.system == "prompt 2"
    assert request.messages == (HI, AssistantMessage((Text("Yes."),)), HI)


def sandboxed(facts: SessionFacts | None = None) -> Session:
    services = replace(make_services(make_catalog()), network="hosts", ports="ask")
    workspace = SessionWorkspace(Path("/"))
    if facts is None:
        return build_session(workspace, services)
    journal = services.archive.create(facts)
    return build_session(workspace, services, SessionSnapshot(facts, (), journal))


def test_the_network_and_ports_of_commands_are_kept_with_the_session() -> None:
    session = sandboxed()
    session.context.options.set_option("network", "off")
    session.context.options.set_option("ports", "on")
    restored = sandboxed(session.context.recorder.facts)
    assert {"network": "off", "ports": "on"}.items() <= current(restored).items()
    # A value of another version is not known here.
    unknown = replace(session.context.recorder.facts, network="some", ports="few")
    assert {"network": "hosts", "ports": "ask"}.items() <= current(sandboxed(unknown)).items()


def test_a_session_without_a_choice_follows_the_settings() -> None:
    session = sandboxed()
    session.context.options.set_mode("plan")
    facts = session.context.recorder.facts
    assert (facts.network, facts.ports) == (None, None)

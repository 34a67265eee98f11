"""Opening, finding and closing sessions; and what a session does beside its turns."""

from pathlib import Path

import anyio
import pytest

from acp_server.models.fixed_catalog import FixedCatalog
from acp_server.permissions.modes import Mode
from acp_server.session.errors import (
    InvalidRootError,
    InvalidValueError,
    UnknownModeError,
    UnknownOptionError,
    UnknownSessionError,
)
from acp_server.session.project.options import Option, OptionSelection, build_options
from acp_server.session.session import Session
from acp_server.session.workspace import SessionWorkspace
from acp_server.turn.conversation import Text, UserMessage
from acp_server.turn.errors import ModelFailedError
from acp_server.turn.events import MessageChunk
from acp_server.turn.ports import StopReason
from tests.handlers.fake_models import (
    EchoModel,
    FailingModel,
    RaiseOnCancelModel,
    UncancellableModel,
)
from tests.support.server_parts import MODEL_ID, make_registry
from tests.support.timeouts import HANG_TIMEOUT_SECONDS
from tests.support.user_texts import CLOSED_OR_NEVER_OPENED, NOT_ABSOLUTE_PATH, SHOW_VERSION
from tests.turn.fake_sinks import MemorySink


def message(text: str) -> UserMessage:
    return UserMessage((Text(text),))


async def send_prompt(session: Session, text: str, sink: MemorySink) -> StopReason:
    prompt = message(text)
    return (await session.prompt(session.enqueue(prompt), prompt, sink, lambda: None)).reason


def options(mode: Mode) -> tuple[Option, ...]:
    return build_options(
        OptionSelection(mode, MODEL_ID, None), FixedCatalog(MODEL_ID, MODEL_ID, EchoModel)
    )


async def test_an_open_session_is_found_by_its_id_until_it_is_removed(tmp_path: Path) -> None:
    registry = make_registry(EchoModel, "plan")
    session = await registry.open(str(tmp_path), [str(tmp_path / "more")])
    assert registry.find(session.id) is session
    assert session.context.workspace == SessionWorkspace(tmp_path, (tmp_path / "more",))
    assert (session.context.options.mode, tuple(session.context.options.options)) == (
        "plan",
        options("plan"),
    )
    assert registry.remove(session.id) is session
    with pytest.raises(UnknownSessionError, match=CLOSED_OR_NEVER_OPENED):
        registry.find(session.id)
    with pytest.raises(UnknownSessionError):
        registry.remove(session.id)


async def test_sessions_of_the_same_directory_have_their_own_ids_and_models(tmp_path: Path) -> None:
    made: list[EchoModel] = []

    def make() -> EchoModel:
        made.append(EchoModel())
        return made[-1]

    registry = make_registry(make)
    sessions = [await registry.open(str(tmp_path), []) for _ in range(10)]
    for session in sessions:
        for _ in range(2):
            await send_prompt(session, "hi", MemorySink())
    assert len({session.id for session in sessions}) == len(made) == 10


@pytest.mark.parametrize("path", ["", ".", "a", "~", "a\0", "/a\0b"])
async def test_a_relative_directory_is_rejected_for_a_session(tmp_path: Path, path: str) -> None:
    registry = make_registry(EchoModel)
    reason = f"{path!r} {NOT_ABSOLUTE_PATH}"
    for cwd, additional in ((path, []), (str(tmp_path), [path]), (str(tmp_path), ["/", path])):
        with pytest.raises(InvalidRootError) as raised:
            await registry.open(cwd, additional)
        assert str(raised.value) == reason


async def test_an_invalid_working_directory_is_rejected_for_a_session(tmp_path: Path) -> None:
    registry = make_registry(EchoModel)
    file = tmp_path / "file"
    file.touch()
    for path in (file, tmp_path / "missing", file / "below"):
        with pytest.raises(InvalidRootError, match="is not a directory"):
            await registry.open(str(path), [])


async def test_cancelling_a_missing_or_idle_session_does_nothing(tmp_path: Path) -> None:
    registry = make_registry(EchoModel)
    session = await registry.open(str(tmp_path), [])
    registry.cancel("nobody")
    registry.cancel(session.id)
    assert await send_prompt(session, "hi", MemorySink()) == "end_turn"


async def test_ending_all_turns_abandons_those_that_ignore_cancellation(tmp_path: Path) -> None:
    models = [UncancellableModel() for _ in range(3)]
    new_models = iter(models)
    registry = make_registry(lambda: next(new_models))
    sessions = [await registry.open(str(tmp_path), []) for _ in models]
    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            for session, model in zip(sessions, models, strict=True):
                tasks.start_soon(send_prompt, session, "hang", MemorySink())
                await model.is_blocked.wait()
            await registry.end_turns()
            assert [registry.find(session.id) for session in sessions] == sessions
            for model in models:
                model.allowed_to_end.set()


async def test_the_mode_and_its_option_stay_in_sync(tmp_path: Path) -> None:
    session = await make_registry(EchoModel).open(str(tmp_path), [])
    session.context.options.set_mode("plan")
    assert tuple(session.context.options.options) == options("plan")
    session.context.options.set_option("mode", "bypass")
    assert session.context.options.mode == "bypass"
    with pytest.raises(UnknownModeError):
        session.context.options.set_mode("nonsense")
    with pytest.raises(InvalidValueError):
        session.context.options.set_option("mode", value=True)
    with pytest.raises(UnknownOptionError):
        session.context.options.set_option("nonsense", "ask")
    assert session.context.options.mode == "bypass"


async def test_a_command_is_answered_outside_the_conversation(tmp_path: Path) -> None:
    session = await make_registry(EchoModel).open(str(tmp_path), [])
    sink = MemorySink()
    assert await send_prompt(session, "/help version", sink) == "end_turn"
    assert sink.text == f"`/version`: {SHOW_VERSION}"
    assert len(session.context.conversation) == 0


async def test_a_failure_is_shown_as_a_separate_message_and_raised(tmp_path: Path) -> None:
    error = ModelFailedError("the endpoint is down")
    session = await make_registry(lambda: FailingModel(error)).open(str(tmp_path), [])
    sink = MemorySink()
    with pytest.raises(ModelFailedError) as raised:
        await send_prompt(session, "hi", sink)
    assert raised.value is error
    chunks = [event for event in sink.events if isinstance(event, MessageChunk)]
    assert [chunk.text for chunk in chunks] == ["So far", "the endpoint is down"]
    assert len({chunk.message_id for chunk in chunks}) == len(sink.events) == 2


async def test_a_failure_of_a_cancelled_turn_is_neither_shown_nor_raised(tmp_path: Path) -> None:
    model = RaiseOnCancelModel(ModelFailedError("cut off"))
    session = await make_registry(lambda: model).open(str(tmp_path), [])
    sink, reasons = MemorySink(), list[StopReason]()

    async def work() -> None:
        reasons.append(await send_prompt(session, "work", sink))

    with anyio.fail_after(HANG_TIMEOUT_SECONDS):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(work)
            await model.started.wait()
            session.cancel()
    assert (reasons, sink.text) == (["cancelled"], "Working")

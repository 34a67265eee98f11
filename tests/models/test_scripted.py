"""The scripted model, the catalog that finds it, and the model of a provider that is foreign."""

from pathlib import Path

import anyio
import pytest

from acp_server.models.fixed_catalog import (
    UnknownProviderModel,
    scripted_catalog,
    unknown_provider_catalog,
    unknown_provider_reason,
)
from acp_server.models.script import parse_script
from acp_server.models.scripted import SCRIPTS, ScriptedModel
from acp_server.session.ports.model_catalog import ModelChoice
from acp_server.turn.conversation import AssistantMessage, Link, Message, Text, UserMessage
from acp_server.turn.errors import ModelFailedError, ModelUnavailableError
from acp_server.turn.events import Usage
from acp_server.turn.ports import (
    Model,
    ModelEvent,
    ModelRequest,
    ModelStop,
    TextDelta,
    ThinkingDelta,
)

SHIPPED = sorted(SCRIPTS.glob("*.script"))


async def play(model: Model, *messages: Message) -> tuple[list[ModelEvent], ModelStop]:
    """Ask a model; return what it streamed and why it stopped."""
    events: list[ModelEvent] = []

    async def receive(event: ModelEvent) -> None:
        events.append(event)

    stop = await model.respond(ModelRequest(messages), receive)
    return events, stop


def user_message(text: str) -> UserMessage:
    return UserMessage((Text(text),))


def scripted(folder: Path, script: str) -> ScriptedModel:
    file = folder / "a.script"
    file.write_text(script, encoding="utf-8")
    return ScriptedModel(str(file))


async def test_a_text_is_streamed_word_by_word_with_all_its_whitespace(tmp_path: Path) -> None:
    model = scripted(tmp_path, "prompt: *\nthink: Hm, hm.\nsay: One  two\n\n  three")
    assert await play(model, user_message("hi")) == (
        [
            ThinkingDelta("Hm, "),
            ThinkingDelta("hm."),
            TextDelta("One  "),
            TextDelta("two\n\n"),
            TextDelta("three"),
        ],
        "end_turn",
    )


@pytest.mark.parametrize("count", [1, 3])
async def test_chunks_are_copies_of_the_whole_text(tmp_path: Path, count: int) -> None:
    model = scripted(tmp_path, f"prompt: *\nchunks: {count} two words ")
    assert await play(model, user_message("hi")) == ([TextDelta("two words ")] * count, "end_turn")


async def test_a_very_long_answer_is_streamed_without_buffering(tmp_path: Path) -> None:
    model = scripted(tmp_path, "prompt: *\nchunks: 9999999 word")
    received = 0

    async def receive(event: ModelEvent) -> None:
        nonlocal received
        assert isinstance(event, TextDelta)
        received += len(event.text)
        if received > 1000:
            raise ModelFailedError("enough")

    with pytest.raises(ModelFailedError, match="enough"):
        await model.respond(ModelRequest((user_message("hi"),)), receive)


async def test_an_empty_text_produces_no_events(tmp_path: Path) -> None:
    assert await play(scripted(tmp_path, "prompt: *\nsay:"), user_message("hi")) == ([], "end_turn")


async def test_the_first_block_matching_the_newest_prompt_is_played_every_time(
    tmp_path: Path,
) -> None:
    model = scripted(tmp_path, "prompt: one\nsay: 1\n\nprompt: *\nsay: 2\n\nprompt: two\nsay: 3")
    one, other = ([TextDelta("1")], "end_turn"), ([TextDelta("2")], "end_turn")
    answer = AssistantMessage((Text("one"),))
    assert await play(model, user_message("one")) == one
    assert await play(model, user_message("one"), answer, user_message("two")) == other
    assert await play(model, user_message("two"), answer, user_message("two one")) == one
    assert await play(model, user_message("two"), answer) == other
    assert await play(model) == other


async def test_links_are_part_of_the_prompt(tmp_path: Path) -> None:
    model = scripted(tmp_path, "prompt: a.py\nsay: yes")
    prompt = UserMessage((Text("look"), Link("file:///a.py", "a.py")))
    assert await play(model, prompt) == ([TextDelta("yes")], "end_turn")


async def test_a_prompt_without_a_matching_block_is_an_error_naming_the_script(
    tmp_path: Path,
) -> None:
    file = tmp_path / "a.script"
    with pytest.raises(ModelFailedError) as raised:
        await play(scripted(tmp_path, "prompt: one\nsay: 1"), user_message("two"))
    assert raised.value.reason == f"the script {str(file)!r} has no block for this prompt"


@pytest.mark.parametrize("stop", ["end_turn", "max_tokens", "refusal"])
async def test_a_stop_ends_the_answer(tmp_path: Path, stop: str) -> None:
    model = scripted(tmp_path, f"prompt: *\nsay: a\nstop: {stop}\nsay: never")
    assert await play(model, user_message("hi")) == ([TextDelta("a")], stop)


async def test_a_failure_occurs_after_the_output_before_it(tmp_path: Path) -> None:
    events: list[ModelEvent] = []

    async def receive(event: ModelEvent) -> None:
        events.append(event)

    model = scripted(tmp_path, "prompt: *\nsay: a\nfail: The endpoint is down.\nsay: never")
    with pytest.raises(ModelFailedError) as raised:
        await model.respond(ModelRequest((user_message("hi"),)), receive)
    assert (events, raised.value.reason) == ([TextDelta("a")], "The endpoint is down.")


async def test_pace_and_pause_delay_the_output(tmp_path: Path) -> None:
    model = scripted(tmp_path, "prompt: *\npause: 20ms\npace: 10ms\nchunks: 3 a\npace: 0ms\nsay: b")
    begin = anyio.current_time()
    await play(model, user_message("hi"))
    assert anyio.current_time() - begin >= 0.05


@pytest.mark.parametrize("script", ["pause: 1000s", "pace: 1000s\nsay: a", "chunks: 999999 a"])
async def test_a_script_can_be_cancelled_at_any_point(tmp_path: Path, script: str) -> None:
    model = scripted(tmp_path, f"prompt: *\n{script}")
    with anyio.move_on_after(0.01) as scope:
        await play(model, user_message("hi"))
    assert scope.cancelled_caught


async def test_a_script_may_start_with_a_byte_order_mark(tmp_path: Path) -> None:
    assert await play(scripted(tmp_path, "\ufeffprompt: *\nsay: a"), user_message("hi")) == (
        [TextDelta("a")],
        "end_turn",
    )


async def test_an_invalid_script_is_reported_with_its_name_and_reason(tmp_path: Path) -> None:
    missing, broken, binary = (tmp_path / name for name in ("missing", "broken", "binary"))
    broken.write_text("prompt: *\nfly: away", encoding="utf-8")
    binary.write_bytes(b"\xff")
    cases = {
        str(missing): f"[Errno 2] No such file or directory: {str(missing)!r}",
        str(tmp_path): f"[Errno 21] Is a directory: {str(tmp_path)!r}",
        str(broken): "line 2: there is no verb 'fly'",
        str(binary): ("'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"),
        "unshipped": "[Errno 2] No such file or directory: 'unshipped'",
    }
    shipped = ", ".join(path.stem for path in SHIPPED)
    for source, problem in cases.items():
        with pytest.raises(ModelUnavailableError) as raised:
            await play(ScriptedModel(source), user_message("hi"))
        assert raised.value.reason == (
            f"cannot play the script {source!r}: {problem}; the included scripts are {shipped}"
        )


async def test_a_fixed_script_is_played_without_a_restart(tmp_path: Path) -> None:
    model = scripted(tmp_path, "nonsense")
    with pytest.raises(ModelUnavailableError):
        await play(model, user_message("hi"))
    scripted(tmp_path, "prompt: *\nsay: a")
    assert await play(model, user_message("hi")) == ([TextDelta("a")], "end_turn")


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_a_shipped_script_can_be_played_and_answers_every_prompt(path: Path) -> None:
    blocks = parse_script(path.read_text(encoding="utf-8"))
    assert blocks[-1].pattern == "*"
    assert all(block.lines for block in blocks)


async def test_a_shipped_script_is_found_by_name() -> None:
    with anyio.move_on_after(0.05):
        await play(ScriptedModel("demo"), user_message("tour"))


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("scripted:demo", "Script: demo"),
        ("scripted:/home/me/tour.script", "Script: tour"),
        ("scripted:", "Script: "),
    ],
)
def test_a_script_name_produces_a_catalog_with_only_that_script(name: str, shown: str) -> None:
    catalog = scripted_catalog(name)
    assert catalog is not None
    assert (catalog.default_id, list(catalog.choices())) == (name, [ModelChoice(name, shown)])
    models = [catalog.model(name) for _ in range(2)]
    assert [type(model) for model in models] == [ScriptedModel, ScriptedModel]
    assert models[0] is not models[1]


@pytest.mark.parametrize("name", ["scripted", "unheard-of", ""])
def test_an_unknown_script_name_produces_no_script(name: str) -> None:
    assert scripted_catalog(name) is None


async def test_a_script_has_no_context_window_price_thought_levels_or_learning() -> None:
    catalog = scripted_catalog("scripted:demo")
    assert catalog is not None
    meter = catalog.meter("scripted:demo")
    assert meter.estimate(ModelRequest((user_message("long " * 1_000_000),))) < meter.window_tokens
    assert meter.cost_usd(Usage(1, 1, 1, 1, 1)) is None
    assert (catalog.thought_levels("x"), catalog.default_thought_level("x")) == ((), None)
    catalog.on_change(lambda: pytest.fail("nothing can change"))
    await catalog.refresh()


async def test_a_foreign_provider_is_named_with_its_origin_and_a_remedy() -> None:
    reason = unknown_provider_reason("nouse", "config.yaml")
    catalog = unknown_provider_catalog(reason, "a-model")
    assert catalog.default_id == "a-model"
    model = catalog.model("a-model")
    assert model == UnknownProviderModel(reason)
    with pytest.raises(ModelUnavailableError) as raised:
        await play(model, user_message("hi"))
    assert raised.value.reason == (
        "acp-server does not know the configured provider 'nouse' (config.yaml); did you mean "
        "`nous`? If not, set `model.base_url` to its address, or `model.provider` to a name that "
        "`acp-server setup --help` lists, in HERMES_HOME/acp/config.yaml"
    )

"""A full context window ends no session: the next prompt and /compact always work."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import JsonValue

from tests.journeys.day import DayConfig, open_day
from tests.journeys.model_seat import ModelProgram, WriteProgram
from tests.journeys.shown_request import ApiForm, ShownRequest
from tests.support.messages_api import call
from tests.support.user_texts import CONVERSATION_NOW_HAS

FORMS: tuple[ApiForm, ...] = ("messages", "chat", "responses")
WINDOWS: Mapping[int, tuple[ApiForm, ...]] = {
    8_000: ("responses",),
    32_000: ("chat",),
    200_000: (),
}
"""The window sizes in tokens, and the API forms that are played in each by default."""
LINE = "value = compute(first, second, third)  # a line of code as long as lines are in real life, "
LINES = 500


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """Seven files of 80 KB, and long instructions."""
    folder = tmp_path / "workspace"
    folder.mkdir()
    for number in range(7):
        lines = (f"{LINE}{number} {line:04} {'x' * 60}" for line in range(LINES))
        (folder / f"file_{number}.py").write_text("\n".join(lines) + "\n")
    (folder / "AGENTS.md").write_text("Say please.\n" + "Use four spaces for each level.\n" * 600)
    return folder


def read_files(*numbers: int) -> WriteProgram:
    def program(shown: ShownRequest) -> ModelProgram:
        for number in numbers:
            shown = yield call("read_file", path=f"file_{number}.py", limit=LINES)
            assert LINE in shown.text
        return "Read."

    return program


def greet(shown: ShownRequest) -> ModelProgram:
    yield from ()
    return f"You said {shown.news[-1].text[-2:]!r}."


@pytest.mark.parametrize(
    ("window", "form"),
    [
        pytest.param(window, form, marks=() if is_short else pytest.mark.full)
        for window, short_forms in WINDOWS.items()
        for form in FORMS
        for is_short in [form in short_forms]
    ],
)
def test_after_more_reading_than_the_window_holds_the_session_goes_on(
    tmp_path: Path, workspace: Path, form: ApiForm, window: int
) -> None:
    with open_day(tmp_path, DayConfig(form, window)) as day:
        session = day.open_session(workspace)
        session.prompt("Read all of them.", read_files(*range(7)))
        session.prompt("hi", greet)
        assert session.command("/compact").startswith(f"{CONVERSATION_NOW_HAS} ")
        session.prompt("hi again", greet)
        day.kill()
        day.start()
        session.load()
        session.prompt("hi after a restart", greet)


def rewrite_after_reading(shown: ShownRequest) -> ModelProgram:
    """Rewrite a file of which no result can show all, as the refusals say."""
    yield call("read_file", path="long.py")
    for _ in range(20):
        shown = yield call("write_file", path="long.py", content="short = True\n")
        if "edited long.py" in shown.text:
            return "Rewritten."
        first, last = shown.find(r"Read lines (\d+)-(\d+) first").groups()
        yield call("read_file", path="long.py", offset=int(first), limit=int(last))
    raise AssertionError(shown.text)


def test_a_file_too_long_for_one_result_can_be_read_in_parts_and_written(
    tmp_path: Path, workspace: Path
) -> None:
    lines = (
        f"value_{number} = compute({number})  # a line like any other" for number in range(250)
    )
    (workspace / "long.py").write_text("\n".join(lines) + "\n")
    with open_day(tmp_path, DayConfig("messages", 8_000, mode="bypass")) as day:
        day.open_session(workspace).prompt("Rewrite it.", rewrite_after_reading)
    assert (workspace / "long.py").read_text() == "short = True\n"


@pytest.mark.parametrize(
    "form",
    [pytest.param(each, marks=() if each == "messages" else pytest.mark.full) for each in FORMS],
)
def test_a_window_that_is_smaller_than_the_settings_say_is_learned(
    tmp_path: Path, workspace: Path, form: ApiForm
) -> None:
    settings: dict[str, JsonValue] = {}
    config = DayConfig(form, 32_000, configured_window_tokens=200_000, settings=settings)
    with open_day(tmp_path, config) as day:
        session = day.open_session(workspace)
        session.prompt("Read all of them.", read_files(*range(7)))
        session.prompt("hi", greet)
        refused = [each for each in day.api.model_requests if each.verdict != "answered"]
        assert 0 < len(refused) <= 4

"""The harness of the journeys: what it finds, and what later journeys need of it."""

from pathlib import Path

import pytest

from tests.journeys.day import MODELS, DayConfig, open_day
from tests.journeys.model_seat import ModelProgram
from tests.journeys.report import ReportRow, format_report
from tests.journeys.shown_request import ApiForm, ShownRequest
from tests.support.messages_api import InputUsage, call

FORMS: tuple[ApiForm, ...] = ("messages", "chat", "responses")
TOO_LONG_BY_FORM: dict[ApiForm, str] = {
    "messages": "prompt is too long: .* tokens > 1000 maximum",
    "chat": "This model's maximum context length is 1000 tokens. However, your messages resulted",
    "responses": "Your input exceeds the context window of this model.",
}
STORY = "It is a long story. " * 150


def greet(shown: ShownRequest) -> ModelProgram:
    yield from ()
    return f"You said {shown.text.splitlines()[0]!r}."


def read_note(shown: ShownRequest) -> ModelProgram:
    shown = yield call("read_file", path="note.txt")
    return f"It says {shown.results[0].splitlines()[0]!r}."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "note.txt").write_text("hello\n")
    return tmp_path / "workspace"


def test_sessions_that_work_at_once_have_programs_of_their_own(
    tmp_path: Path, folder: Path
) -> None:
    with open_day(tmp_path) as day:
        first, second = (day.open_session(folder, name) for name in ("first", "second"))
        with day.action("both"):
            numbers = [first.start_prompt("Read it.", read_note)]
            numbers.append(second.start_prompt("Hello.", greet))
            for number in numbers:
                day.finish(number, "a prompt")
        assert [each["text"] for each in first.transcript if "text" in each] == ["It says 'hello'."]
        assert [each["text"] for each in second.transcript if "text" in each] == [
            "You said 'Hello.'."
        ]
        assert (len(day.requests_of("first")), len(day.requests_of("second"))) == (2, 1)
        both = next(row for row in day.rows if row.action == "both")
        assert both.requests == 3


def test_a_program_that_does_not_find_what_it_looks_for_fails_the_test(
    tmp_path: Path, folder: Path
) -> None:
    def expect_more(shown: ShownRequest) -> ModelProgram:
        shown = yield call("read_file", path="note.txt")
        return shown.find("goodbye")[0]

    with pytest.raises(AssertionError, match="looked for 'goodbye'"), open_day(tmp_path) as day:
        day.open_session(folder).prompt("Read it.", expect_more)


@pytest.mark.parametrize(
    "form",
    [pytest.param(each, marks=() if each == "messages" else pytest.mark.full) for each in FORMS],
)
def test_another_model_and_a_summary_are_seen_as_breaks_of_the_prefix(
    tmp_path: Path, folder: Path, form: ApiForm
) -> None:
    with open_day(tmp_path, DayConfig(form)) as day:
        session = day.open_session(folder)
        session.prompt("Read it.", read_note)
        session.prompt("Again.", read_note)
        assert session.prefix_breaks == []
        session.set_model(MODELS[form][1])
        for number in range(4):
            session.prompt(f"Hello {number}. {STORY}", greet)
        session.command("/compact")
        session.prompt("Where were we?", greet)
        # the summary is asked for with the prefix of before, and the next request has a new one
        (summary,) = day.seat.summaries
        assert session.prefix_breaks == [4, summary + 1]
        assert "The user asked, in this order" in str(session.transcript)


@pytest.mark.parametrize("form", FORMS)
def test_a_request_beyond_the_window_is_refused_as_the_provider_does(
    tmp_path: Path, folder: Path, form: ApiForm
) -> None:
    config = DayConfig(form, window_tokens=1_000, configured_window_tokens=200_000)
    with open_day(tmp_path, config) as day:
        with pytest.raises(AssertionError, match=TOO_LONG_BY_FORM[form]):
            day.open_session(folder).prompt("Hello.", greet)
        outcomes = {(each.status, each.verdict) for each in day.api.model_requests}
        assert outcomes == {(400, "refused")}


def test_a_report_bills_cached_input_by_its_price() -> None:
    usage = InputUsage(uncached=10, read=1_000, written_5m=100, written_1h=50)
    row = ReportRow("a prompt", 1, usage, 7, 2, 0.5)
    assert row.billed_input_tokens == 10 + 100 + 125 + 100
    heads, _, total = format_report([row]).splitlines()
    assert heads.split() == [
        *("action", "requests", "input", "cached", "billed", "output", "questions", "seconds")
    ]
    assert total.split() == ["total", "1", "1,160", "86%", "335", "7", "2", "0.50"]

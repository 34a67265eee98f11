"""Day, session id and model. They change most often, so they come last for the prompt cache."""

from collections.abc import Iterator
from datetime import date

from prompt_engine.facts import PromptFacts
from prompt_engine.section import PromptSection

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)

DAY_START = "Today is "


def write(facts: PromptFacts) -> Iterator[PromptSection]:
    """Yield one sentence for each known fact."""
    yield PromptSection("day", "volatile", f"{DAY_START}{format_day(facts.day)}.")
    if facts.session_id:
        yield PromptSection("session_id", "volatile", f"The id of this chat is {facts.session_id}.")
    if facts.model:
        yield PromptSection("model", "volatile", f"The model is {facts.model}.")


def format_day(day: date) -> str:
    """Return a day in English, independent of the process's locale.

    >>> format_day(date(2026, 11, 1))
    'Sunday, November 1, 2026'
    """
    return f"{WEEKDAYS[day.weekday()]}, {MONTHS[day.month - 1]} {day.day}, {day.year}"

"""Day, session id and model. They change most often, so they come last for the prompt cache."""

from collections.abc import Iterator
from datetime import date

from prompt_engine.facts import Facts
from prompt_engine.section import Section

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


def write(facts: Facts) -> Iterator[Section]:
    """Yield one sentence for each known fact."""
    yield Section("day", "volatile", f"Today is {day_in_words(facts.day)}.")
    if facts.session_id:
        yield Section("session_id", "volatile", f"The session's id is {facts.session_id}.")
    if facts.model:
        yield Section("model", "volatile", f"The model is {facts.model}.")


def day_in_words(day: date) -> str:
    """Return a day in English, independent of the process's locale.

    >>> day_in_words(date(2026, 11, 1))
    'Sunday, November 1, 2026'
    """
    return f"{WEEKDAYS[day.weekday()]}, {MONTHS[day.month - 1]} {day.day}, {day.year}"

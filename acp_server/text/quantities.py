"""Durations and counts as text for people."""

MILLISECONDS_PER_SECOND = 1000


def duration(seconds: float) -> str:
    """Return a duration as text, such as "12 ms" or "1.2 s"."""
    milliseconds = round(seconds * 1000)
    return f"{milliseconds} ms" if milliseconds < MILLISECONDS_PER_SECOND else f"{seconds:.1f} s"


def count(number: int, noun: str) -> str:
    """Return a number with its noun, such as "1 file" or "2 files"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"

"""Durations and counts as text for people."""

MILLISECONDS_PER_SECOND = 1000
CENT = 0.01


def duration(seconds: float) -> str:
    """Return a duration as text, such as "12 ms" or "1.2 s"."""
    milliseconds = round(seconds * 1000)
    return f"{milliseconds} ms" if milliseconds < MILLISECONDS_PER_SECOND else f"{seconds:.1f} s"


def count(number: int, noun: str) -> str:
    """Return a number with its noun, such as "1 file" or "2 files"."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def dollars(amount: float) -> str:
    """Return an amount of dollars; less than a cent has four decimals.

    >>> dollars(1234.5), dollars(0.0123), dollars(0.0004), dollars(0)
    ('$1,234.50', '$0.01', '$0.0004', '$0.00')
    """
    return f"${amount:.4f}" if 0 < amount < CENT else f"${amount:,.2f}"

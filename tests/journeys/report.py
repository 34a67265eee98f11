"""The figures of a journey, one row per action of the user."""

from collections.abc import Sequence
from dataclasses import dataclass

from tests.support.messages_api import InputUsage

READ_PRICE, WRITTEN_5M_PRICE, WRITTEN_1H_PRICE = 0.1, 1.25, 2.0
"""Prices of cached input, as factors of the price of uncached input."""


@dataclass(frozen=True, slots=True)
class ReportRow:
    """What one action of the user led to."""

    action: str
    requests: int
    input: InputUsage
    output_tokens: int
    questions: int
    seconds: float
    """For people; no test may judge by it."""

    @property
    def billed_input_tokens(self) -> float:
        """The input, converted to uncached tokens by price."""
        return (
            self.input.uncached
            + READ_PRICE * self.input.read
            + WRITTEN_5M_PRICE * self.input.written_5m
            + WRITTEN_1H_PRICE * self.input.written_1h
        )

    @property
    def cached_share(self) -> float:
        """Share of the input that was read from the cache, from 0 to 1."""
        return self.input.read / self.input.total if self.input.total else 0.0


def sum_rows(rows: Sequence[ReportRow], action: str = "total") -> ReportRow:
    """Return the sum of these rows."""
    return ReportRow(
        action,
        sum(row.requests for row in rows),
        sum_usages([row.input for row in rows]),
        sum(row.output_tokens for row in rows),
        sum(row.questions for row in rows),
        sum(row.seconds for row in rows),
    )


def sum_usages(usages: Sequence[InputUsage]) -> InputUsage:
    """Return the sum of these usages."""
    return InputUsage(
        sum(each.uncached for each in usages),
        sum(each.read for each in usages),
        sum(each.written_5m for each in usages),
        sum(each.written_1h for each in usages),
    )


def format_report(rows: Sequence[ReportRow]) -> str:
    """Return the rows and their sum as a table."""
    heads = ("action", "requests", "input", "cached", "billed", "output", "questions", "seconds")
    lines = [heads] + [
        (
            row.action[:48],
            str(row.requests),
            f"{row.input.total:,}",
            f"{row.cached_share:.0%}",
            f"{row.billed_input_tokens:,.0f}",
            f"{row.output_tokens:,}",
            str(row.questions),
            f"{row.seconds:.2f}",
        )
        for row in (*rows, sum_rows(rows))
    ]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )

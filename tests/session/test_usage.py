"""The account of a session, in words."""

from acp_server.session.commands.usage_text import NO_USAGE, format_usage
from acp_server.turn.events import Usage
from acp_server.turn.usage_totals import UsageTotals


def test_the_usage_report_lists_tokens_cache_share_cost_and_window() -> None:
    usage = Usage(
        input_tokens=100,
        output_tokens=250,
        cache_read_tokens=9_000,
        cache_write_5m_tokens=800,
        cache_write_1h_tokens=100,
    )
    account = format_usage(UsageTotals(usage, 3, 0.0421, context_tokens=50_000), 200_000)
    assert account.splitlines() == [
        "| | |",
        "|---|---|",
        "| requests | 3 |",
        "| read from the cache | 9,000 tokens (90.0% of what it read) |",
        "| written to the cache | 900 tokens |",
        "| read uncached | 100 tokens |",
        "| written by the model | 250 tokens |",
        "| cost | $0.0421 |",
        "| context window | 50,000 of 200,000 tokens (25%) |",
    ]


def test_unknown_usage_is_omitted() -> None:
    assert format_usage(UsageTotals(), 200_000) == NO_USAGE
    assert "| cost | not known |" in format_usage(UsageTotals(Usage(), 1), 200_000)

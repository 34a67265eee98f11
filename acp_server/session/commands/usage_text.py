"""Usage of a session, as text."""

from acp_server.turn.usage_totals import UsageTotals

NO_USAGE = "No usage yet: no model response has reported token counts."


def format_usage(totals: UsageTotals, window_tokens: int) -> str:
    """Return a session's usage as Markdown.

    >>> print(format_usage(UsageTotals(), 200_000))
    No usage yet: no model response has reported token counts.
    """
    if not totals.requests:
        return NO_USAGE
    usage = totals.usage
    read = usage.cache_read_tokens
    share = f" ({read / usage.prompt_tokens:.1%} of what it read)" if usage.prompt_tokens else ""
    fill = totals.context_tokens / window_tokens
    rows = (
        ("requests", f"{totals.requests:,}"),
        ("read from the cache", f"{read:,} tokens{share}"),
        ("written to the cache", f"{usage.cache_write_tokens:,} tokens"),
        ("read uncached", f"{usage.input_tokens:,} tokens"),
        ("written by the model", f"{usage.output_tokens:,} tokens"),
        ("cost", "not known" if totals.cost_usd is None else f"${totals.cost_usd:.4f}"),
        ("context window", f"{totals.context_tokens:,} of {window_tokens:,} tokens ({fill:.0%})"),
    )
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])

"""Usage of a session, as text."""

from acp_server.turn.loop import Spent

NOTHING = "No usage yet: no model response has reported token counts."


def account_of(spent: Spent, window_tokens: int) -> str:
    """Return a session's usage as Markdown.

    >>> print(account_of(Spent(), 200_000))
    No usage yet: no model response has reported token counts.
    """
    if not spent.requests:
        return NOTHING
    usage = spent.usage
    read = usage.cache_read_tokens
    share = f" ({read / usage.prompt_tokens:.1%} of what it read)" if usage.prompt_tokens else ""
    full = spent.context_tokens / window_tokens
    rows = (
        ("requests", f"{spent.requests:,}"),
        ("read from the cache", f"{read:,} tokens{share}"),
        ("written to the cache", f"{usage.cache_write_tokens:,} tokens"),
        ("read uncached", f"{usage.input_tokens:,} tokens"),
        ("written by the model", f"{usage.output_tokens:,} tokens"),
        ("cost", "not known" if spent.cost_usd is None else f"${spent.cost_usd:.4f}"),
        ("context window", f"{spent.context_tokens:,} of {window_tokens:,} tokens ({full:.0%})"),
    )
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])

"""What a session has used, in words."""

from acp_server.turn.loop import Spent

NOTHING = "Nothing was counted yet: no answer of a model has told what it used."


def account_of(spent: Spent, window_tokens: int) -> str:
    """Return the account of a session as Markdown.

    >>> print(account_of(Spent(), 200_000))
    Nothing was counted yet: no answer of a model has told what it used.
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
        ("read besides", f"{usage.input_tokens:,} tokens"),
        ("answered", f"{usage.output_tokens:,} tokens"),
        ("cost", "not known" if spent.cost_usd is None else f"${spent.cost_usd:.4f}"),
        ("window", f"{spent.context_tokens:,} of {window_tokens:,} tokens ({full:.0%})"),
    )
    return "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])

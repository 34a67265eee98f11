"""Numbers of reports as people read them. Pure."""

from acp_server.fleet.reports.summary import GroupSummary
from acp_server.text.quantities import dollars

NONE = "-"
HEADINGS = (
    "runs",
    "passed",
    "pass rate (95 %)",
    "cost",
    "tokens in / out",
    "p50 / p90",
    "attempts",
)
_THOUSAND = 1000
_MINUTE = 60
_SMALLEST_P = 0.0001


def rate_text(group: GroupSummary) -> str:
    """Return a pass rate with its interval, such as `80 % (49 to 94)`."""
    if group.pass_rate is None:
        return NONE
    low, high = (round(100 * each) for each in group.interval)
    return f"{100 * group.pass_rate:.0f} % ({low} to {high})"


def cost_text(cost: float | None) -> str:
    """Return a cost in dollars, or a dash if it is unknown."""
    return NONE if cost is None else dollars(cost)


def p_text(p_value: float) -> str:
    """Return a p-value, which is never shown as zero.

    >>> p_text(0.0703), p_text(0.00003)
    ('p = 0.0703', 'p < 0.0001')
    """
    return "p < 0.0001" if p_value < _SMALLEST_P else f"p = {p_value:.4f}"


def seconds_text(seconds: float | None) -> str:
    """Return a duration.

    >>> seconds_text(7.25), seconds_text(189.8), seconds_text(7384)
    ('7.2 s', '3 min 10 s', '2 h 3 min')
    """
    if seconds is None:
        return NONE
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), _MINUTE)
    if minutes < _MINUTE:
        return f"{minutes} min {rest} s"
    return f"{minutes // _MINUTE} h {minutes % _MINUTE} min"


def tokens_text(count: int) -> str:
    """Return a number of tokens, such as `1.2M`.

    >>> tokens_text(999), tokens_text(1234), tokens_text(2_500_000)
    ('999', '1.2k', '2.5M')
    """
    if count < _THOUSAND:
        return str(count)
    if count < _THOUSAND**2:
        return f"{count / _THOUSAND:.1f}k"
    return f"{count / _THOUSAND**2:.1f}M"


def row_of(group: GroupSummary) -> tuple[str, ...]:
    """Return the cells of a group's row, below `HEADINGS`."""
    return (
        str(group.total),
        str(group.passed),
        rate_text(group),
        cost_text(group.cost_usd),
        f"{tokens_text(group.input_tokens)} / {tokens_text(group.output_tokens)}",
        f"{seconds_text(group.seconds_p50)} / {seconds_text(group.seconds_p90)}",
        str(group.attempts),
    )

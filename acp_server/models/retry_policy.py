"""Retry policy of all adapters."""

import random

from acp_server.startup.fast_dataclass import frozen

LONGEST_RETRY_AFTER_SECONDS = 60.0


@frozen
class RetryPolicy:
    """Exponential backoff with jitter; limited in attempts and delay."""

    attempts: int = 5
    """The most retries of one request (the first try does not count)."""
    first_seconds: float = 0.5
    longest_seconds: float = 16.0

    def wait_seconds(self, attempt: int, retry_after_seconds: float | None) -> float | None:
        """Return the delay before retry number `attempt` (from 1); None to give up.

        The provider's `retry-after` takes precedence. If it is longer than
        `MAX_RETRY_AFTER_SECONDS`, give up, so that the user is told instead of waiting.
        """
        if attempt > self.attempts:
            return None
        if retry_after_seconds is not None:
            is_bearable = retry_after_seconds <= LONGEST_RETRY_AFTER_SECONDS
            return max(retry_after_seconds, 0.0) if is_bearable else None
        wait = min(self.first_seconds * 2 ** (attempt - 1), self.longest_seconds)
        return wait * random.uniform(0.75, 1.25)  # noqa: S311  spreads load, hides nothing

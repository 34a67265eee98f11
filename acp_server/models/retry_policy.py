"""Retry policy of all adapters."""

import random

from acp_server.startup.fast_dataclass import frozen_dataclass

MAX_RETRY_AFTER_SECONDS = 60.0


@frozen_dataclass
class RetryPolicy:
    """Exponential backoff with jitter; limited in attempts and delay."""

    max_retries: int = 5
    """The most retries of one request (the first try does not count)."""
    initial_seconds: float = 0.5
    max_seconds: float = 16.0

    def delay_seconds(self, attempt: int, retry_after_seconds: float | None) -> float | None:
        """Return the delay before retry number `attempt` (from 1); None to give up.

        The provider's `retry-after` takes precedence. If it is longer than
        `MAX_RETRY_AFTER_SECONDS`, give up, so that the user is told instead of waiting.
        """
        if attempt > self.max_retries:
            return None
        if retry_after_seconds is not None:
            is_acceptable = retry_after_seconds <= MAX_RETRY_AFTER_SECONDS
            return max(retry_after_seconds, 0.0) if is_acceptable else None
        wait = min(self.initial_seconds * 2 ** (attempt - 1), self.max_seconds)
        return wait * random.uniform(0.75, 1.25)  # noqa: S311  spreads load, hides nothing

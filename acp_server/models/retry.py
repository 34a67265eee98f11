"""When to ask again, and how long to wait before: for every adapter."""

import random

from acp_server.frozen import frozen

LONGEST_RETRY_AFTER_SECONDS = 60.0


@frozen
class RetryPolicy:
    """Exponential backoff with jitter, bounded in number and in time."""

    attempts: int = 5
    """How often a request is repeated at the most."""
    first_seconds: float = 0.5
    longest_seconds: float = 16.0

    def wait_seconds(self, attempt: int, retry_after_seconds: float | None) -> float | None:
        """Return how long to wait before the repetition `attempt` (from 1); None to give up.

        What the provider asks for counts, unless it asks for longer than anybody would sit and
        wait: then it is better to say so.
        """
        if attempt > self.attempts:
            return None
        if retry_after_seconds is not None:
            is_bearable = retry_after_seconds <= LONGEST_RETRY_AFTER_SECONDS
            return max(retry_after_seconds, 0.0) if is_bearable else None
        wait = min(self.first_seconds * 2 ** (attempt - 1), self.longest_seconds)
        return wait * random.uniform(0.75, 1.25)  # noqa: S311  spreads load, hides nothing

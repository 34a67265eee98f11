"""Pending notices for the model: events that no call of its asked for.

For example, a background command ended. Notices are delivered with the next request; none is made
just for them.
"""

from collections.abc import Callable, Sequence

NoticeSource = Callable[[], Sequence[str]]
"""Returns its notices since the last call, each in square brackets."""


class PendingNotices:
    """Collects the pending notices of one session from their sources."""

    def __init__(self) -> None:
        self._sources: list[NoticeSource] = []

    def add(self, source: NoticeSource) -> None:
        """Add a source."""
        self._sources.append(source)

    def take(self) -> Sequence[str]:
        """Return all notices since the last call, once."""
        return [each for source in self._sources for each in source()]

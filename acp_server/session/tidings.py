"""What the model is to be told that no call of its asked for, such as a background command's end.

Owns who has such news, not what it is. It waits for the next request; none is made for it.
"""

from collections.abc import Callable, Sequence

Source = Callable[[], Sequence[str]]
"""Returns its news since the last time, each a remark in square brackets."""


class Tidings:
    """The news of one session, from whoever has some."""

    def __init__(self) -> None:
        self._sources: list[Source] = []

    def add(self, source: Source) -> None:
        """Ask a source too from now on."""
        self._sources.append(source)

    def take(self) -> Sequence[str]:
        """Return all news since the last time; it counts as told then."""
        return [each for source in self._sources for each in source()]

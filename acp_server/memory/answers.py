"""What a store says to whoever reads or changes it: the state it is in, and what became of it."""

from collections.abc import Mapping

from pydantic import JsonValue

from acp_server.frozen import frozen
from prompt_engine.memory_entries import StoreName, joined


@frozen
class Contents:
    """What a store holds. Sizes are in characters of its text, delimiters included."""

    name: StoreName
    entries: tuple[str, ...]
    limit: int

    @property
    def used(self) -> int:
        """The characters that the entries take."""
        return len(joined(self.entries))

    @property
    def usage(self) -> str:
        """How full it is, such as `1,474/2,200`."""
        return f"{self.used:,}/{self.limit:,}"


@frozen
class Answer:
    """What became of a change."""

    text: str
    contents: Contents | None = None
    """The live state; None if the store could not be read."""
    current_entries: tuple[str, ...] | None = None
    """All entries as they may be shown, where the change needs a look at them."""
    matches: tuple[str, ...] | None = None
    """The entries that could have been meant, as they may be shown."""
    is_success: bool = False

    def as_json(self) -> Mapping[str, JsonValue]:
        """Return the answer in the form that the model and programs read."""
        said: dict[str, JsonValue] = {"success": self.is_success}
        said["message" if self.is_success else "error"] = self.text
        if self.contents is not None:
            said["usage"] = self.contents.usage
            said["entry_count"] = len(self.contents.entries)
        if self.current_entries is not None:
            said["current_entries"] = list(self.current_entries)
        if self.matches is not None:
            said["matches"] = list(self.matches)
        return said

"""Results of reading or changing a memory store."""

from collections.abc import Mapping

from pydantic import JsonValue

from acp_server.startup.fast_dataclass import frozen_dataclass
from prompt_engine.memory_entries import StoreName, join_entries


@frozen_dataclass
class MemoryContents:
    """Content of a store. Sizes are in characters of its text, delimiters included."""

    name: StoreName
    entries: tuple[str, ...]
    limit: int

    @property
    def used(self) -> int:
        """Number of characters that the entries take."""
        return len(join_entries(self.entries))

    @property
    def usage(self) -> str:
        """Used and available characters, such as `1,474/2,200`."""
        return f"{self.used:,}/{self.limit:,}"


@frozen_dataclass
class MemoryResult:
    """Result of a change."""

    text: str
    contents: MemoryContents | None = None
    """Current content; None if the store could not be read."""
    current_entries: tuple[str, ...] | None = None
    """All entries, screened for display, if the caller needs them to correct the change."""
    matches: tuple[str, ...] | None = None
    """The entries that could be meant, screened for display."""
    is_success: bool = False

    def as_json(self) -> Mapping[str, JsonValue]:
        """Return the result as JSON for the model and for programs."""
        result: dict[str, JsonValue] = {"success": self.is_success}
        result["message" if self.is_success else "error"] = self.text
        if self.contents is not None:
            result["usage"] = self.contents.usage
            result["entry_count"] = len(self.contents.entries)
        if self.current_entries is not None:
            result["current_entries"] = list(self.current_entries)
        if self.matches is not None:
            result["matches"] = list(self.matches)
        return result

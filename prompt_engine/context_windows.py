"""Context window and system role by model id.

Small table for any provider. Each row gives the smallest window of a family, because too high a
value makes requests fail; a caller that knows the exact window passes it in. The table is in
`context_windows.toml`.
"""

from dataclasses import dataclass
from typing import Literal, cast

from prompt_engine.toml_tables import read_toml

ASSUMED_WINDOW_TOKENS = 200_000
"""Used for a model that is not in the table."""

SystemRole = Literal["system", "developer"]


@dataclass(frozen=True, slots=True)
class ContextWindow:
    """Context window: prompt and answer together."""

    tokens: int
    is_assumed: bool = False
    """Whether this is a guess; a guess raises no limit."""


_DEVELOPER = ("gpt-5", "codex")


def context_window(model: str, known_tokens: int | None = None) -> ContextWindow:
    """Return a model's window: the caller's value, else the table's, else an assumed one.

    >>> context_window("openai/gpt-5-mini")
    ContextWindow(tokens=400000, is_assumed=False)
    >>> context_window("house-model")
    ContextWindow(tokens=200000, is_assumed=True)
    """
    if known_tokens is not None:
        return ContextWindow(known_tokens)
    name = model.lower()
    table = cast("dict[str, int]", read_toml("", "context_windows"))
    found = next((tokens for part, tokens in table.items() if part in name), None)
    if found is None:
        return ContextWindow(ASSUMED_WINDOW_TOKENS, is_assumed=True)
    return ContextWindow(found)


def system_role(model: str) -> SystemRole:
    """Return the role of the system message, for APIs that distinguish `system` and `developer`."""
    name = model.lower()
    return "developer" if any(part in name for part in _DEVELOPER) else "system"

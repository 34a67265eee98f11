"""What a workspace asks for in the frontmatter of its `.hermes.md`, as far as it may.

A project may narrow what the agent does, never widen it: a stricter mode, a model. What it may not
ask for, or asks in a way that is not understood, is named and not used.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import JsonValue

from acp_server.permissions.modes import Mode

STRICTNESS: tuple[Mode, ...] = ("bypass", "accept_edits", "ask", "plan")
"""From the mode that asks for nothing to the one that allows the least."""
NARROW: tuple[Literal["ask", "plan"], ...] = ("ask", "plan")


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """What a project asks for: the part that can be used, and why the rest is not."""

    mode: Mode | None = None
    model: str | None = None
    refused: tuple[str, ...] = ()

    @property
    def uses(self) -> tuple[str, ...]:
        """What would be used, in a phrase each."""
        wanted = {"mode": self.mode, "model": self.model}
        return tuple(f"{name}: {value}" for name, value in wanted.items() if value)


def understood(values: Mapping[str, JsonValue], models: Collection[str]) -> ProjectSettings:
    """Return what of a project's settings can be used; `models` are those that can be had."""
    mode: Mode | None = next((each for each in NARROW if values.get("mode") == each), None)
    model = next((each for each in models if values.get("model") == each), None)
    used = {"mode": mode, "model": model}
    refused = tuple(_refusal(name) for name in values if not used.get(name))
    return ProjectSettings(mode, model, refused)


def narrowed(mode: Mode, wanted: Mode | None) -> Mode:
    """Return the stricter of two modes."""
    if wanted is None or STRICTNESS.index(wanted) < STRICTNESS.index(mode):
        return mode
    return wanted


def _refusal(name: str) -> str:
    match name:
        case "mode":
            return f"mode (a project may ask for {' or '.join(NARROW)})"
        case "model":
            return "model (there is none of that name)"
        case _:
            return f"{name} (a project cannot set it)"

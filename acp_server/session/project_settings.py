"""What a workspace asks for in the frontmatter of its `.hermes.md`, as far as it may.

A project may narrow what the agent does, never widen it: a stricter mode, a model, fewer tools,
skills to prefer. What it may not ask for, or asks in a way that is not understood, is named and not
used.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from pydantic import JsonValue

from acp_server.frozen import frozen
from acp_server.permissions.modes import Mode

STRICTNESS: tuple[Mode, ...] = ("bypass", "accept_edits", "ask", "plan")
"""From the mode that asks for nothing to the one that allows the least."""
NARROW: tuple[Literal["ask", "plan"], ...] = ("ask", "plan")
MOST_SKILLS = 50

_SKILL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}")


@frozen
class ProjectSettings:
    """What a project asks for: the part that can be used, and why the rest is not."""

    mode: Mode | None = None
    model: str | None = None
    tools: tuple[str, ...] = ()
    """The names of the only tools that it wants; empty for all."""
    skills: tuple[str, ...] = ()
    """The names of skills to prefer."""
    refused: tuple[str, ...] = ()

    @property
    def uses(self) -> tuple[str, ...]:
        """What would be used, in a phrase each."""
        wanted = {
            "mode": self.mode,
            "model": self.model,
            "tools": ", ".join(self.tools),
            "skills": ", ".join(self.skills),
        }
        return tuple(f"{name}: {value}" for name, value in wanted.items() if value)


def understood(
    values: Mapping[str, JsonValue],
    models: Collection[str],
    tools: Sequence[str] = (),
    prefixes: tuple[str, ...] = (),
) -> ProjectSettings:
    """Return what of a project's settings can be used; `models` and `tools` can be had.

    Tools whose names begin with one of the `prefixes` may come later, and are taken at their word.
    """
    mode: Mode | None = next((each for each in NARROW if values.get("mode") == each), None)
    model = next((each for each in models if values.get("model") == each), None)
    wanted = _names(values.get("tools"))
    later = tuple(each for each in wanted if each.startswith(prefixes) and each not in tools)
    allowed = (*(each for each in tools if each in wanted), *later)
    skills = tuple(each for each in _names(values.get("skills")) if _SKILL.fullmatch(each))
    used = {"mode": mode, "model": model, "tools": allowed, "skills": skills}
    unknown = [each for each in wanted if allowed and each not in allowed]
    refused = [_refusal(name) for name in values if not used.get(name)]
    refused += [f"{each!r} among its tools (there is none of that name)" for each in unknown]
    return ProjectSettings(mode, model, allowed, skills[:MOST_SKILLS], tuple(refused))


def narrowed(mode: Mode, wanted: Mode | None) -> Mode:
    """Return the stricter of two modes."""
    if wanted is None or STRICTNESS.index(wanted) < STRICTNESS.index(mode):
        return mode
    return wanted


def _names(value: JsonValue) -> tuple[str, ...]:
    """Return the names of a list, or of a line with commas or blanks between them, each once."""
    texts = value if isinstance(value, list) else str(value or "").replace(",", " ").split()
    return tuple(dict.fromkeys(text for text in texts if isinstance(text, str)))


def _refusal(name: str) -> str:
    match name:
        case "mode":
            return f"mode (a project may ask for {' or '.join(NARROW)})"
        case "model":
            return "model (there is none of that name)"
        case "tools":
            return "tools (none of them is there)"
        case "skills":
            return "skills (they are no names)"
        case _:
            return f"{name} (a project cannot set it)"

"""Settings that a workspace requests in the frontmatter of its `.hermes.md`.

A project may restrict the agent, never extend its rights: a stricter mode, a model, fewer tools,
preferred skills. Requests that are not allowed or not understood are reported and ignored.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from pydantic import JsonValue

from acp_server.permissions.modes import Mode
from acp_server.startup.fast_dataclass import frozen_dataclass

MODES_BY_STRICTNESS: tuple[Mode, ...] = ("bypass", "accept_edits", "ask", "plan")
"""The modes from the least to the most restrictive."""
REQUESTABLE_MODES: tuple[Literal["ask", "plan"], ...] = ("ask", "plan")
MAX_SKILLS = 50

_SKILL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}")


@frozen_dataclass
class ProjectSettings:
    """A project's requested settings: the usable ones, and the reasons why others are not."""

    mode: Mode | None = None
    model: str | None = None
    tools: tuple[str, ...] = ()
    """Names of the only tools to allow; empty for all."""
    skills: tuple[str, ...] = ()
    """Names of skills to prefer."""
    refused: tuple[str, ...] = ()

    @property
    def summary(self) -> tuple[str, ...]:
        """The usable settings as phrases."""
        values = {
            "mode": self.mode,
            "model": self.model,
            "tools": ", ".join(self.tools),
            "skills": ", ".join(self.skills),
        }
        return tuple(f"{name}: {value}" for name, value in values.items() if value)


def parse_project_settings(
    values: Mapping[str, JsonValue],
    models: Collection[str],
    tools: Sequence[str] = (),
    prefixes: tuple[str, ...] = (),
) -> ProjectSettings:
    """Return the usable part of a project's settings; `models` and `tools` are the available ones.

    Tools whose names start with one of the `prefixes` may appear later and are accepted unchecked.
    """
    # Only `ask` and `plan`: a repository must not be able to turn permission prompts off.
    mode: Mode | None = next(
        (each for each in REQUESTABLE_MODES if values.get("mode") == each), None
    )
    model = next((each for each in models if values.get("model") == each), None)
    requested = _parse_names(values.get("tools"))
    deferred = tuple(each for each in requested if each.startswith(prefixes) and each not in tools)
    # In the order of the toolbox: another order in the file must not discard the prompt.
    allowed = (*(each for each in tools if each in requested), *deferred)
    skills = tuple(each for each in _parse_names(values.get("skills")) if _SKILL.fullmatch(each))
    accepted = {"mode": mode, "model": model, "tools": allowed, "skills": skills}
    unknown = [each for each in requested if allowed and each not in allowed]
    refused = [_explain_refusal(name) for name in values if not accepted.get(name)]
    refused += [f"{each!r} among its tools (no such tool)" for each in unknown]
    return ProjectSettings(mode, model, allowed, skills[:MAX_SKILLS], tuple(refused))


def stricter_mode(mode: Mode, requested: Mode | None) -> Mode:
    """Return the stricter of two modes."""
    if requested is None or MODES_BY_STRICTNESS.index(requested) < MODES_BY_STRICTNESS.index(mode):
        return mode
    return requested


def _parse_names(value: JsonValue) -> tuple[str, ...]:
    """Return the unique names in a list, or in a line separated by commas or spaces."""
    texts = value if isinstance(value, list) else str(value or "").replace(",", " ").split()
    return tuple(dict.fromkeys(text for text in texts if isinstance(text, str)))


def _explain_refusal(name: str) -> str:
    match name:
        case "mode":
            return f"mode (a project can only set {' or '.join(REQUESTABLE_MODES)})"
        case "model":
            return "model (no such model)"
        case "tools":
            return "tools (none of them exists)"
        case "skills":
            return "skills (not valid names)"
        case _:
            return f"{name} (a project cannot set it)"

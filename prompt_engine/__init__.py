r"""Tiered, cache-stable system prompt of an agent; a library that is independent of the server.

One call reads a project and an agent's home, and builds the prompt:

>>> import tempfile
>>> from pathlib import Path
>>> import prompt_engine
>>> place = tempfile.TemporaryDirectory()
>>> project, home = Path(place.name, "project"), Path(place.name, "home")
>>> project.mkdir(); home.mkdir()
>>> _ = (project / "AGENTS.md").write_text("Run the tests with `just test`.\n")
>>> _ = (home / "SOUL.md").write_text("You are Ada, a patient engineer.\n")
>>> prompt = prompt_engine.prompt_for(project, home=home, model="claude-opus-5")
>>> prompt.stable.splitlines()[0]
'You are Ada, a patient engineer.'
>>> "Run the tests with `just test`." in prompt.context
True
>>> prompt.volatile.splitlines()[-1]
'The model is claude-opus-5.'
>>> [entry.name for entry in prompt.report.entries if entry.fate == "kept"][0]
'soul'
>>> place.cleanup()

Callers that have the facts already use `prompt_engine.assemble.build_prompt`, which reads nothing;
those with settings of their own use `prompt_engine.prompting.prompt_from`. Importing the package
imports none of its modules.
"""

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prompt_engine.assemble import AssembledPrompt


def prompt_for(  # noqa: PLR0913  each is a fact of the prompt
    directory: Path | str,
    *,
    home: Path | str | None = None,
    model: str = "",
    tools: frozenset[str] = frozenset(),
    window_tokens: int | None = None,
    skills_index: str = "",
    variables: Mapping[str, str] | None = None,
    day: date | None = None,
) -> "AssembledPrompt":
    """Return the system prompt for work in a directory. Blocks; writes nothing.

    Args:
        directory: The directory of the work. Its instruction files, repository and manifests, and
            those above it, are read.
        home: The agent's home with `SOUL.md` and `memories/`; `~/.hermes` if None. It may be
            missing.
        model: The model's id; its family decides some sections.
        tools: Names of the tools that the request has; sections about others are left out.
        window_tokens: The model's context window, which limits long files; None if unknown.
        skills_index: The text that lists the skills, such as that of `skills_store`; shown only if
            the tools can load skills (`skill_view`).
        variables: Environment variables, for facts such as the CI service; None: none.
        day: The day that the prompt names; today if None.

    Returns:
        The prompt: `text`, or `stable`, `context` and `volatile` for caching, and a `report` of
        its sections with sources and sizes. Files that cannot be read, or whose text is blocked by
        the scan for injected instructions, are reported there; nothing is raised for them.
    """
    from prompt_engine.prompting import prompt_for as build

    return build(
        directory,
        home=home,
        model=model,
        tools=tools,
        window_tokens=window_tokens,
        skills_index=skills_index,
        variables=variables,
        day=day,
    )

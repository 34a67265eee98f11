"""One call that reads a directory and a home, and builds the prompt for a model."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path

from prompt_engine.assemble import AssembledPrompt, build_prompt
from prompt_engine.facts import SourcedText
from prompt_engine.sources.prompt_sources import (
    PromptSources,
    read_instructions,
    read_prompt_facts,
)


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
) -> AssembledPrompt:
    """Return the prompt for work in a directory; see `prompt_engine.prompt_for`."""
    sources = PromptSources(
        Path(directory).expanduser().absolute(),
        Path("~/.hermes" if home is None else home).expanduser().absolute(),
        variables=variables or {},
    )
    return prompt_from(
        sources,
        model=model,
        tools=tools,
        window_tokens=window_tokens,
        skills_index=skills_index,
        day=day,
    )


def prompt_from(
    sources: PromptSources,
    *,
    model: str = "",
    tools: frozenset[str] = frozenset(),
    window_tokens: int | None = None,
    skills_index: str = "",
    day: date | None = None,
) -> AssembledPrompt:
    """Return the prompt from sources with settings of their own. Blocks."""
    facts, instructions = read_prompt_facts(sources), read_instructions(sources, window_tokens)
    return build_prompt(
        replace(
            facts,
            day=day or date.today(),  # noqa: DTZ011  the user's own day
            model=model,
            tools=tools,
            window_tokens=window_tokens,
            identity=replace(facts.identity, soul=instructions.soul),
            skills_index=SourcedText(skills_index),
            context_files=instructions.found.files,
            context_notes=instructions.found.notes,
        )
    )

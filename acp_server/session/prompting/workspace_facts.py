"""Facts about a workspace, as they were read from disk."""

from dataclasses import dataclass

from acp_server.session.prompting.file_changes import FileLocations
from prompt_engine.facts import PromptFacts, SourcedText
from prompt_engine.sources.context_files import ProjectContext


@dataclass(frozen=True, slots=True)
class EnvironmentFacts:
    """Facts that are slow to read, and so are read before a prompt needs them."""

    facts: PromptFacts
    """Without user-written texts, which are read when the prompt is written."""
    locations: FileLocations
    """Where instruction files may be."""


@dataclass(frozen=True, slots=True)
class InstructionFiles:
    """The contents and locations of instruction files."""

    found: ProjectContext
    soul: SourcedText
    locations: FileLocations

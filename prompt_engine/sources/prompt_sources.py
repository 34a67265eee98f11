"""Reads everything a prompt for a directory is built from: machine, repository, user, project.

The only entry to the disk for callers that want a whole prompt. Blocks; git is asked for a moment.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Literal

from prompt_engine.context_file_types import ContextFileNote
from prompt_engine.facts import (
    AgentIdentity,
    HintOverride,
    PromptFacts,
    SourcedText,
    ToolUseEnforcement,
)
from prompt_engine.sources.context_files import (
    ContextRequest,
    ProjectContext,
    find_project_context,
)
from prompt_engine.sources.environment import HostInfo, active_profile, read_environment
from prompt_engine.sources.memory_snapshot import read_memory
from prompt_engine.sources.soul import read_soul
from prompt_engine.sources.workspace_snapshot import read_workspace
from prompt_engine.threats import prepare_scan, scan
from prompt_engine.trust import TrustCheck, trust_nothing

MEMORY_CHARACTERS, USER_CHARACTERS = 2_200, 1_375
"""The usual limits of MEMORY.md and USER.md."""
PROTECTED = "it is protected, and so kept from the model"


def nothing_is_protected(path: Path) -> bool:
    """Return that any file may be shown."""
    del path
    return False


@dataclass(frozen=True, slots=True)
class PromptSources:
    """Where a prompt's facts are, and the user's settings about them."""

    directory: Path
    """The directory of the work, absolute."""
    home: Path
    """The agent's home, with SOUL.md and memories."""
    additional_directories: tuple[Path, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """The environment variables; those with secrets are not needed."""
    provider: str = ""
    platform: str = "acp"
    tool_shell: str = "bash"
    enforcement: ToolUseEnforcement = "auto"
    environment_hint: str = ""
    is_python_probed: bool = True
    hint_overrides: Mapping[str, HintOverride] = field(default_factory=dict[str, HintOverride])
    additional_text: str = ""
    memory_characters: int | None = MEMORY_CHARACTERS
    """The limit of MEMORY.md; None: it is not shown."""
    user_characters: int | None = USER_CHARACTERS
    """The limit of USER.md; None: it is not shown."""
    skips_context_files: bool = False
    """Whether to leave out SOUL.md and the project's instructions."""
    agents_md_scope: Literal["chain", "cwd"] = "chain"
    max_characters: int | None = None
    """Of one instruction file; None: by the context window."""
    is_trusted: TrustCheck = trust_nothing
    """Whether the user allows a text that the scan blocks."""
    is_protected: Callable[[Path], bool] = nothing_is_protected
    creates_home: bool = False
    """Whether a missing home is created, as the agent does at its first start."""


@dataclass(frozen=True, slots=True)
class FoundInstructions:
    """The instruction files of the project, and the user's SOUL.md."""

    found: ProjectContext
    soul: SourcedText


def read_prompt_facts(sources: PromptSources) -> PromptFacts:
    """Return what is slow to read: repository, machine, memory. The day and the model are unset."""
    prepare_scan()
    memory = sources.home / "memories"
    environment = read_environment(
        sources.variables,
        HostInfo.current(),
        tool_shell=sources.tool_shell,
        hint=sources.environment_hint,
        is_python_probed=sources.is_python_probed,
    )
    return PromptFacts(
        day=date.min,
        model="",
        provider=sources.provider,
        platform=sources.platform,
        identity=AgentIdentity(skips_context_files=sources.skips_context_files),
        enforcement=sources.enforcement,
        environment=replace(environment, profile=active_profile(sources.home)),
        hint_overrides=sources.hint_overrides,
        system_message=SourcedText(sources.additional_text, "agent.system_prompt"),
        workspace=read_workspace(
            sources.directory, sources.variables, scan, sources.additional_directories
        ),
        memory=None
        if sources.memory_characters is None
        else read_memory(memory / "MEMORY.md", sources.memory_characters, scan),
        user=None
        if sources.user_characters is None
        else read_memory(memory / "USER.md", sources.user_characters, scan),
    )


def context_request(sources: PromptSources, window_tokens: int | None) -> ContextRequest:
    """Return the request for the instruction files, which are cut to fit a context window."""
    return ContextRequest(
        sources.directory,
        sources.additional_directories,
        sources.agents_md_scope,
        sources.max_characters,
        window_tokens,
    )


def read_instructions(sources: PromptSources, window_tokens: int | None) -> FoundInstructions:
    """Return the instruction files, without protected ones, and SOUL.md."""
    found = ProjectContext()
    if not sources.skips_context_files:
        request = context_request(sources, window_tokens)
        found = find_project_context(request, scan, sources.is_trusted)
        found = _without_protected(found, sources.is_protected)
    soul = read_soul(
        sources.home, scan, is_trusted=sources.is_trusted, creates_home=sources.creates_home
    )
    return FoundInstructions(found, soul)


def _without_protected(
    found: ProjectContext, is_protected: Callable[[Path], bool]
) -> ProjectContext:
    hidden = {file.path for file in found.files if is_protected(Path(file.path))}
    files = tuple(file for file in found.files if file.path not in hidden)
    notes = tuple(_mark_hidden(note) if note.path in hidden else note for note in found.notes)
    return replace(found, files=files, notes=notes)


def _mark_hidden(note: ContextFileNote) -> ContextFileNote:
    return ContextFileNote(note.path, "unreadable", note.total_characters, reason=PROTECTED)

"""Reads a session's workspace from disk: machine facts and instruction files.

Concurrent reads by sessions of the same workspace are shared. Independent of prompts, conversations
and sessions.
"""

from collections.abc import Callable
from pathlib import Path

from acp_server.permissions.protected_paths import ProtectedPaths
from acp_server.session.prompting.file_changes import (
    FileDigests,
    FileLocations,
    digest_files,
    locate_files,
)
from acp_server.session.prompting.prompt_config import PromptConfig
from acp_server.session.prompting.shared_reads import SharedReads
from acp_server.session.prompting.workspace_facts import EnvironmentFacts, InstructionFiles
from acp_server.session.workspace import SessionWorkspace
from prompt_engine.facts import HintOverride
from prompt_engine.sources.context_files import context_directories
from prompt_engine.sources.file_reading import resolve
from prompt_engine.sources.prompt_sources import (
    PromptSources,
    context_request,
    read_instructions,
    read_prompt_facts,
)


class WorkspaceReader:
    """Reads for the sessions of one workspace."""

    def __init__(
        self, config: PromptConfig, workspace: SessionWorkspace, shared_reads: SharedReads
    ) -> None:
        """Prepare; `shared_reads` is shared by all sessions with these settings."""
        self.home = resolve(workspace.cwd)
        self._workspace = workspace
        self._reads = shared_reads
        self._protected_paths = ProtectedPaths(workspace.roots, Path.home(), config.home)
        self._sources = prompt_sources(config, workspace, self.is_protected)

    async def read_environment_facts(self) -> EnvironmentFacts:
        """Return the facts of the repository, the machine and the user's memory."""
        return await self._reads.environment_facts.run(self._workspace.roots, self._read_facts)

    async def read_instruction_files(self, window_tokens: int | None) -> InstructionFiles:
        """Return the current instruction files, cut to fit a context window."""
        # Long files are cut to the window, so sessions with different windows cannot share a read.
        key = (window_tokens, *self._workspace.roots)
        return await self._reads.instruction_files.run(
            key, lambda: self._read_instructions(window_tokens)
        )

    def locate_files(self, digests: FileDigests) -> FileLocations:
        """Return where the files of these digests are, and where new ones may appear. Blocks."""
        folders = context_directories(context_request(self._sources, None))
        return locate_files(digests, self.home, (*folders, self._sources.home))

    def is_protected(self, path: Path) -> bool:
        """Return whether a file is protected, by an ignore file for example. Blocks."""
        return self._protected_paths.is_protected(self._workspace.cwd / path)

    def _read_facts(self) -> EnvironmentFacts:
        return EnvironmentFacts(read_prompt_facts(self._sources), self.locate_files(FileDigests()))

    def _read_instructions(self, window_tokens: int | None) -> InstructionFiles:
        read = read_instructions(self._sources, window_tokens)
        digests = digest_files(read.found, read.soul, {})
        return InstructionFiles(read.found, read.soul, self.locate_files(digests))


def prompt_sources(
    config: PromptConfig, workspace: SessionWorkspace, is_protected: Callable[[Path], bool]
) -> PromptSources:
    """Return where the facts of a workspace's prompt are, by the user's settings."""
    settings, memory = config.settings, config.memory
    return PromptSources(
        workspace.cwd,
        config.home,
        workspace.additional_directories,
        config.variables,
        provider=config.provider,
        platform=config.platform,
        enforcement=settings.enforcement,
        environment_hint=settings.environment_hint,
        is_python_probed=settings.should_probe_python,
        hint_overrides={
            name: HintOverride(hint.replace, hint.append)
            for name, hint in settings.platform_hints.items()
        },
        additional_text=settings.additional_text,
        memory_characters=memory.char_limit if memory.is_enabled else None,
        user_characters=memory.user_char_limit if memory.has_user_profile else None,
        skips_context_files=config.should_skip_context_files,
        agents_md_scope=settings.agents_md_scope,
        max_characters=settings.max_characters,
        is_trusted=config.is_trusted,
        is_protected=is_protected,
        creates_home=True,
    )

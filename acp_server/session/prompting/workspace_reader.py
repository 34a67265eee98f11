"""Reads a session's workspace from disk: machine facts and instruction files.

Concurrent reads by sessions of the same workspace are shared. Independent of prompts, conversations
and sessions.
"""

from dataclasses import replace
from datetime import date
from pathlib import Path

from acp_server.permissions.facts import FactCollector
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
from prompt_engine.context_file_types import ContextFileNote
from prompt_engine.facts import AgentIdentity, HintOverride, PromptFacts, SourcedText
from prompt_engine.sources.context_files import (
    ContextRequest,
    ProjectContext,
    context_directories,
    find_project_context,
)
from prompt_engine.sources.environment import HostInfo, active_profile, read_environment
from prompt_engine.sources.file_reading import resolve
from prompt_engine.sources.memory_snapshot import read_memory
from prompt_engine.sources.soul import read_soul
from prompt_engine.sources.workspace_snapshot import read_workspace
from prompt_engine.threats import prepare_scan, scan


class WorkspaceReader:
    """Reads for the sessions of one workspace."""

    def __init__(
        self, config: PromptConfig, workspace: SessionWorkspace, shared_reads: SharedReads
    ) -> None:
        """Prepare; `shared_reads` is shared by all sessions with these settings."""
        self.home = resolve(workspace.cwd)
        self._config = config
        self._workspace = workspace
        self._reads = shared_reads
        self._fact_collector = FactCollector(workspace.roots, Path.home(), config.home)

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
        folders = context_directories(self._request(None))
        return locate_files(digests, self.home, (*folders, self._config.home))

    def is_protected(self, path: Path) -> bool:
        """Return whether a file is protected, by an ignore file for example. Blocks."""
        return self._fact_collector.is_protected(self._workspace.cwd / path)

    def _read_facts(self) -> EnvironmentFacts:
        # In this thread, ahead of time: compiling the patterns takes a tenth of a second.
        prepare_scan()
        config, workspace = self._config, self._workspace
        home = config.home
        memory = home / "memories"
        settings = config.settings
        environment = read_environment(
            config.variables,
            HostInfo.current(),
            tool_shell="bash",
            hint=settings.environment_hint,
            is_python_probed=settings.should_probe_python,
        )
        facts = PromptFacts(
            day=date.min,  # placeholder; the prompt names the day on which it is written
            model="",
            provider=config.provider,
            platform=config.platform,
            identity=AgentIdentity(skips_context_files=config.should_skip_context_files),
            enforcement=settings.enforcement,
            environment=replace(environment, profile=active_profile(home)),
            hint_overrides={
                name: HintOverride(hint.replace, hint.append)
                for name, hint in settings.platform_hints.items()
            },
            system_message=SourcedText(settings.additional_text, "agent.system_prompt"),
            workspace=read_workspace(
                workspace.cwd, config.variables, scan, workspace.additional_directories
            ),
            memory=read_memory(memory / "MEMORY.md", config.memory.char_limit, scan)
            if config.memory.is_enabled
            else None,
            user=read_memory(memory / "USER.md", config.memory.user_char_limit, scan)
            if config.memory.has_user_profile
            else None,
        )
        return EnvironmentFacts(facts, self.locate_files(FileDigests()))

    def _read_instructions(self, window_tokens: int | None) -> InstructionFiles:
        config, found = self._config, ProjectContext()
        if not config.should_skip_context_files:
            request = self._request(window_tokens)
            found = self._remove_protected(find_project_context(request, scan, config.is_trusted))
        soul = read_soul(config.home, scan, is_trusted=config.is_trusted)
        return InstructionFiles(found, soul, self.locate_files(digest_files(found, soul, {})))

    def _request(self, window_tokens: int | None) -> ContextRequest:
        config, workspace = self._config, self._workspace
        return ContextRequest(
            workspace.cwd,
            workspace.additional_directories,
            config.settings.agents_md_scope,
            config.settings.max_characters,
            window_tokens,
        )

    def _remove_protected(self, found: ProjectContext) -> ProjectContext:
        """Return the found files without the protected ones."""
        hidden = {file.path for file in found.files if self.is_protected(Path(file.path))}
        files = tuple(file for file in found.files if file.path not in hidden)
        notes = tuple(_mark_hidden(note) if note.path in hidden else note for note in found.notes)
        return replace(found, files=files, notes=notes)


def _mark_hidden(note: ContextFileNote) -> ContextFileNote:
    reason = "it is protected, and so kept from the model"
    return ContextFileNote(note.path, "unreadable", note.total_characters, reason=reason)

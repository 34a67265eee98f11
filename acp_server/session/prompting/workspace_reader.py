"""Reads a session's workspace from disk: machine facts and instruction files.

Concurrent reads by sessions of the same workspace are shared. Independent of prompts, conversations
and sessions.
"""

from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from acp_server.permissions.facts import Surveyor
from acp_server.session.prompting.file_changes import Places, Standing, places_of, standing_of
from acp_server.session.prompting.prompt_config import PromptSettings
from acp_server.session.prompting.single_flight import BriefingReadings
from acp_server.session.services import Workspace
from prompt_engine.context_file_types import FileNote
from prompt_engine.facts import Facts, HintOverride, Identity, Passage
from prompt_engine.sources.context_files import (
    ContextFound,
    ContextRequest,
    context_folders,
    find_context,
)
from prompt_engine.sources.environment import Host, profile_of, read_environment
from prompt_engine.sources.file_reading import resolve
from prompt_engine.sources.memory_snapshot import read_memory
from prompt_engine.sources.soul import read_soul
from prompt_engine.sources.workspace_snapshot import read_workspace
from prompt_engine.threats import prepare_scan, scan


@dataclass(frozen=True, slots=True)
class Gathered:
    """Facts that are slow to read, and so are read before a prompt needs them."""

    facts: Facts
    """Without user-written texts, which are read when the prompt is written."""
    places: Places
    """Where instruction files may be."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """The contents and locations of instruction files."""

    found: ContextFound
    soul: Passage
    places: Places


class WorkspaceReader:
    """Reads for the sessions of one workspace."""

    def __init__(
        self, settings: PromptSettings, workspace: Workspace, readings: BriefingReadings
    ) -> None:
        """Prepare; `readings` is shared by all sessions with these settings."""
        self.home = resolve(workspace.cwd)
        self._settings = settings
        self._workspace = workspace
        self._readings = readings
        self._surveyor = Surveyor(workspace.roots, Path.home(), settings.home)

    async def gathered(self) -> Gathered:
        """Return the facts of the repository, the machine and the user's memory."""
        return await self._readings.gathered.read(self._workspace.roots, self._gather)

    async def spoken(self, window_tokens: int | None) -> Spoken:
        """Return the current instruction files, cut to fit a context window."""
        # Long files are cut to the window, so sessions with different windows cannot share a read.
        key = (window_tokens, *self._workspace.roots)
        return await self._readings.spoken.read(key, lambda: self._speak(window_tokens))

    def places(self, standing: Standing) -> Places:
        """Return where the files of these digests are, and where new ones may appear. Blocks."""
        folders = context_folders(self._request(None))
        return places_of(standing, self.home, (*folders, self._settings.home))

    def is_protected(self, path: Path) -> bool:
        """Return whether a file is protected, by an ignore file for example. Blocks."""
        return self._surveyor.is_protected(self._workspace.cwd / path)

    def _gather(self) -> Gathered:
        prepare_scan()
        settings, workspace = self._settings, self._workspace
        home = settings.home
        memory = home / "memories"
        environment = read_environment(
            settings.variables,
            Host.here(),
            tool_shell="bash",
            hint=settings.environment_hint,
            is_python_probed=settings.probes_python,
        )
        facts = Facts(
            day=date.min,  # placeholder; the prompt names the day on which it is written
            model="",
            provider=settings.provider,
            platform=settings.platform,
            identity=Identity(skips_context_files=settings.skips_context_files),
            enforcement=settings.enforcement,
            environment=replace(environment, profile=profile_of(home)),
            hint_overrides={n: HintOverride(*o) for n, o in settings.hint_overrides.items()},
            system_message=Passage(settings.system_message, "agent.system_prompt"),
            workspace=read_workspace(workspace.cwd, settings.variables, workspace.additional),
            memory=read_memory(memory / "MEMORY.md", settings.memory_limit, scan)
            if settings.has_memory
            else None,
            user=read_memory(memory / "USER.md", settings.user_limit, scan)
            if settings.has_user_profile
            else None,
        )
        return Gathered(facts, self.places(Standing()))

    def _speak(self, window_tokens: int | None) -> Spoken:
        settings, found = self._settings, ContextFound()
        if not settings.skips_context_files:
            request = self._request(window_tokens)
            found = self._allowed(find_context(request, scan, settings.is_trusted))
        soul = read_soul(settings.home, scan, is_trusted=settings.is_trusted)
        return Spoken(found, soul, self.places(standing_of(found, soul, {})))

    def _request(self, window_tokens: int | None) -> ContextRequest:
        settings, workspace = self._settings, self._workspace
        return ContextRequest(
            workspace.cwd,
            workspace.additional,
            settings.agents_md_scope,
            settings.max_characters,
            window_tokens,
        )

    def _allowed(self, found: ContextFound) -> ContextFound:
        """Return the found files without the protected ones."""
        hidden = {file.path for file in found.files if self.is_protected(Path(file.path))}
        files = tuple(file for file in found.files if file.path not in hidden)
        notes = tuple(_hidden(note) if note.path in hidden else note for note in found.notes)
        return replace(found, files=files, notes=notes)


def _hidden(note: FileNote) -> FileNote:
    reason = "it is protected, and so kept from the model"
    return FileNote(note.path, "unreadable", note.total_characters, reason=reason)

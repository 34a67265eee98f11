"""Workspace prompt provider: connects the prompt engine to a session.

Renders the system prompt from the workspace and delivers the instructions of the directories that
the work reaches. All disk reads run in threads, off the event loop.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

import anyio
from anyio import to_thread
from pydantic import JsonValue

from acp_server.session.ports.observer import ShowNotice, hide_notice
from acp_server.session.prompting.context_messages import file_notices, format_row, prompt_notices
from acp_server.session.prompting.day_change import remark_on_day
from acp_server.session.prompting.file_changes import (
    FileChangeReporter,
    FileDigests,
    digest_files,
)
from acp_server.session.prompting.file_watch import FileWatch
from acp_server.session.prompting.loaded_files import loaded_context, loaded_hints
from acp_server.session.prompting.prompt_config import PromptConfig
from acp_server.session.prompting.provider import (
    InstructionDelivery,
    LoadedFile,
    SystemPromptRequest,
)
from acp_server.session.prompting.shared_reads import SharedReads
from acp_server.session.prompting.workspace_facts import EnvironmentFacts, InstructionFiles
from acp_server.session.prompting.workspace_reader import WorkspaceReader
from acp_server.session.workspace import SessionWorkspace
from acp_server.turn.conversation import Conversation, Text, ToolResult
from prompt_engine.assemble import AssembledPrompt, build_prompt
from prompt_engine.facts import SourcedText
from prompt_engine.hint_blocks import LoadedHints, find_loaded_hints, wrap_hints
from prompt_engine.report import parse_report
from prompt_engine.sections.workspace import format_workspace
from prompt_engine.sources.context_files import ProjectContext
from prompt_engine.sources.subdirectory_hints import HintDelivery, HintFinder
from prompt_engine.threats import scan
from prompt_engine.trust import sha256_of


@dataclass(slots=True)
class _ScannedConversation:
    """The hints found in a conversation, as far as it was scanned."""

    conversation: Conversation = field(default_factory=Conversation)
    generation: int = 0
    scanned_count: int = 0
    hints: LoadedHints = field(default_factory=LoadedHints)


class WorkspacePromptProvider:
    """Prompt provider for a session in a workspace."""

    def __init__(
        self,
        config: PromptConfig,
        workspace: SessionWorkspace,
        watch: FileWatch | None = None,
        today: Callable[[], date] | None = None,
        shared_reads: SharedReads | None = None,
        show_notice: ShowNotice = hide_notice,
    ) -> None:
        """Prepare; `shared_reads` is shared by all sessions with the same settings.

        `show_notice` is called when an instruction file changes on disk; a notice that it cannot
        show goes with the next turn.
        """
        self._config = config
        self._workspace = workspace
        self._secret = secrets.token_bytes(32)
        self._reader = WorkspaceReader(config, workspace, shared_reads or SharedReads())
        self._facts: EnvironmentFacts | None = None
        self._prompt: AssembledPrompt | None = None
        self._project = ProjectContext()
        self._window_tokens: int | None = None
        self._today = today or config.settings.today
        self._prompt_day: date | None = None
        """The day that the written prompt names."""
        self._hint_finder: HintFinder | None = None
        self._scanned = _ScannedConversation()
        self._notices: tuple[str, ...] = ()
        self._shown_notices: set[str] = set()
        self._delivered_files: dict[str, LoadedFile] = {}
        """Instruction files delivered with tool results, by label."""
        self._delivered_digests = FileDigests()
        """Digests of the files as they were delivered to the model."""
        self._file_changes = FileChangeReporter(
            watch, self._reader.home, self._compare_digests, show_notice
        )
        self._read_lock = anyio.Lock()
        """One reader thread at a time: the first prompt waits for a running `gather_facts`."""

    async def gather_facts(self) -> None:
        """Read the slow facts: the repository, the machine, the user's own files."""
        await self._read_facts()

    async def write_prompt(self, request: SystemPromptRequest) -> str:
        """Return the system prompt; every call after the first reads the facts again."""
        # The first prompt may use facts gathered ahead of time; a rewrite must read them again.
        if self._prompt is not None:
            self._facts = None
        environment_facts = await self._read_facts()
        async with self._read_lock:
            # Watch before reading: a change in between would otherwise go unnoticed.
            if self._prompt is None:
                self._file_changes.watch_unread(environment_facts.locations)
            instruction_files = await self._reader.read_instruction_files(request.window_tokens)
            self._project, self._window_tokens = instruction_files.found, request.window_tokens
            self._prompt = self._build_prompt(environment_facts, instruction_files, request)
            await self._track_files(instruction_files)
        self._notices = tuple(prompt_notices(self._prompt.report.entries, self._project.notes))
        return self._prompt.text

    def take_notices(self) -> Sequence[str]:
        """Return notices about project and user files that the model does not see in full."""
        return (*self._take_new_notices(self._notices), *self._file_changes.take_notices())

    def close(self) -> None:
        """Stop watching files."""
        self._file_changes.close()

    def describe(self) -> str:
        """Return a table of the prompt's sections, and the directory instructions loaded so far."""
        if self._prompt is None:
            return "The system prompt is written at the first prompt."
        report = self._prompt.report
        rows = [format_row(entry) for entry in report.entries]
        head = "| section | source | characters | tokens | |\n|---|---|---|---|---|"
        total = f"| **all** | | {report.characters:,} | about {report.estimated_tokens:,} | |"
        table = "\n".join([head, *rows, total])
        files = self._scan_hints(self._scanned.conversation).files
        loaded = ", ".join(f"`{label}`" for label in files) or "none yet"
        return f"{table}\n\nDirectory instructions loaded so far: {loaded}."

    @property
    def report(self) -> JsonValue:
        """The report on the prompt written last, as JSON."""
        return None if self._prompt is None else self._prompt.report.as_json()

    def state(self) -> Mapping[str, JsonValue]:
        """Return the prompt's report, its files, and the secret that marks genuine hints."""
        return {
            "seal": self._secret.hex(),
            "window": self._window_tokens,
            "day": None if self._prompt_day is None else self._prompt_day.isoformat(),
            "roots": [*map(str, self._workspace.roots)],
            "files": _digest_files(self._project),
            "report": self.report,
        }

    async def restore(self, text: str, state: Mapping[str, JsonValue]) -> bool:
        """Continue with a previous prompt unless its directories or files have changed."""
        secret, window = _parse_secret(state), state.get("window")
        report = parse_report(state.get("report"))
        # Stored by an older version, or damaged: write a new prompt.
        if secret is None or not isinstance(window, int | None) or report is None:
            return False
        # Other roots mean other files: the old prompt would name directories that are not open.
        if state.get("roots") != [*map(str, self._workspace.roots)]:
            return False
        instruction_files = await self._reader.read_instruction_files(window)
        if _digest_files(instruction_files.found) != state.get("files"):
            return False
        # The old secret is needed to recognise the hints that are already in the conversation.
        self._secret, self._window_tokens, self._project = secret, window, instruction_files.found
        self._prompt, self._prompt_day = AssembledPrompt(text, "", "", report), _parse_day(state)
        await self._track_files(instruction_files)
        return True

    def loaded_files(self) -> Sequence[LoadedFile]:
        """Return the instruction files that were delivered to the model."""
        return (*loaded_context(self._project), *self._delivered_files.values())

    async def workspace_facts(self) -> str:
        """Return the workspace facts as they were read."""
        return format_workspace((await self._read_facts()).facts)

    def project_settings(self) -> Mapping[str, JsonValue]:
        """Return the frontmatter settings of the project's files; the nearest file wins."""
        merged: dict[str, JsonValue] = {}
        for found in reversed(self._project.settings):
            merged |= found.values
        return merged

    def prompt_remarks(self, conversation: Conversation) -> Sequence[str]:
        """Return a remark on the date if it differs from the one the model last received."""
        remark = remark_on_day(conversation, self._prompt_day, self._today())
        return (remark,) if remark else ()

    async def find_instructions(
        self, conversation: Conversation, touched: Mapping[str, Sequence[str]]
    ) -> Mapping[str, InstructionDelivery]:
        """Return instructions of touched directories that are new to the model."""
        async with self._read_lock:
            found = await to_thread.run_sync(self._deliver_hints, conversation, touched)
            if any(delivery.text for delivery in found.values()):
                self._file_changes.watch_read(
                    await to_thread.run_sync(self._reader.locate_files, self._delivered_digests)
                )
        return found

    async def _compare_digests(self) -> tuple[FileDigests, FileDigests]:
        """Return the file digests as delivered to the model, and as they are on disk now."""
        # The lock keeps a rewrite from changing the delivered digests during the comparison.
        async with self._read_lock:
            if self._prompt is None:  # nothing was delivered yet, so nothing can differ
                return FileDigests(), FileDigests()
            instruction_files = await self._reader.read_instruction_files(self._window_tokens)
            hints, current_hints = self._delivered_digests.hints, LoadedHints()
            if hints and self._hint_finder is not None:
                current_hints = await to_thread.run_sync(self._hint_finder.current_state, hints)
            return self._delivered_digests, digest_files(
                instruction_files.found, instruction_files.soul, current_hints.files
            )

    async def _read_facts(self) -> EnvironmentFacts:
        async with self._read_lock:
            if self._facts is None:
                self._facts = await self._reader.read_environment_facts()
            return self._facts

    async def _track_files(self, instruction_files: InstructionFiles) -> None:
        """Store the digests of the prompt's files and report changes from now on."""
        # Hints stay in the conversation, so a new prompt does not replace them.
        hints, locations = self._delivered_digests.hints, instruction_files.locations
        self._delivered_digests = digest_files(
            instruction_files.found, instruction_files.soul, hints
        )
        if hints:
            locations = await to_thread.run_sync(self._reader.locate_files, self._delivered_digests)
        self._file_changes.restart(locations)

    def _build_prompt(
        self,
        environment_facts: EnvironmentFacts,
        instruction_files: InstructionFiles,
        request: SystemPromptRequest,
    ) -> AssembledPrompt:
        facts, day = environment_facts.facts, self._today()
        self._prompt_day = day
        return build_prompt(
            replace(
                facts,
                day=day,
                model=request.model_id,
                tools=request.tools,
                window_tokens=request.window_tokens,
                identity=replace(facts.identity, soul=instruction_files.soul),
                skills_index=SourcedText(request.skills_index),
                external_memory=SourcedText(request.external_memory, "memory.provider"),
                context_files=instruction_files.found.files,
                context_notes=instruction_files.found.notes,
            )
        )

    def _deliver_hints(
        self, conversation: Conversation, touched: Mapping[str, Sequence[str]]
    ) -> Mapping[str, InstructionDelivery]:
        finder = self._hint_finder = self._hint_finder or HintFinder(
            self._workspace.roots, scan, self._config.is_trusted
        )
        # Read from the conversation, not from memory: after compaction or a fork, hints that are
        # no longer in it must be delivered again.
        loaded = self._project.loaded.merged_with(self._scan_hints(conversation))
        deliveries: dict[str, InstructionDelivery] = {}
        for key, paths in touched.items():
            found = finder.find([Path(path) for path in paths], loaded)
            # Protected files stay unread even if they have the name of an instruction file.
            is_protected = self._reader.is_protected
            readable_hints = tuple(each for each in found.hints if not is_protected(each.path))
            found = replace(found, hints=readable_hints)
            loaded = loaded.merged_with(found.loaded)
            self._delivered_files |= loaded_hints(found)
            # Signed with a secret, so that a tool result cannot pretend that a file was delivered
            # already.
            text = wrap_hints(found.hints, found.named_only, self._secret)
            notices = self._take_new_notices(file_notices(found.notes))
            if text or notices:
                deliveries[key] = InstructionDelivery(text, _format_labels(found), notices)
        # Files of the system prompt are compared separately (`RELOAD`, not `LOADED_LATER`).
        excluded = self._project.loaded.files
        hints = {label: digest for label, digest in loaded.files.items() if label not in excluded}
        self._delivered_digests = replace(self._delivered_digests, hints=hints)
        return deliveries

    def _take_new_notices(self, notices: Sequence[str]) -> tuple[str, ...]:
        """Return the notices not shown before in this session, and mark them as shown."""
        new_notices = tuple(notice for notice in notices if notice not in self._shown_notices)
        self._shown_notices.update(new_notices)
        return new_notices

    def _scan_hints(self, conversation: Conversation) -> LoadedHints:
        """Return the hints in a conversation; each message is scanned only once."""
        scanned, generation = self._scanned, conversation.generation
        # A rebuild replaces messages, so the scan must start over.
        if scanned.conversation is not conversation or scanned.generation != generation:
            scanned = self._scanned = _ScannedConversation(conversation, generation)
        messages = tuple(conversation)
        texts = (
            part.text
            for message in messages[scanned.scanned_count :]
            for part in message.parts
            if isinstance(part, Text | ToolResult)
        )
        scanned.hints = scanned.hints.merged_with(find_loaded_hints(texts, self._secret))
        scanned.scanned_count = len(messages)
        return scanned.hints


def _parse_day(state: Mapping[str, JsonValue]) -> date | None:
    try:
        return date.fromisoformat(str(state.get("day")))
    except ValueError:
        return None


def _parse_secret(state: Mapping[str, JsonValue]) -> bytes | None:
    try:
        return bytes.fromhex(str(state.get("seal")))
    except ValueError:
        return None


def _digest_files(found: ProjectContext) -> list[JsonValue]:
    """Return the path and digest of each file in a prompt."""
    # Text may hold unpaired surrogates, which strict UTF-8 rejects.
    raw = [(file.path, file.text.encode(errors="surrogatepass")) for file in found.files]
    return [[path, sha256_of(text)] for path, text in raw]


def _format_labels(found: HintDelivery) -> tuple[str, ...]:
    """Return the labels of the delivered files for the user, blocked ones marked as such."""
    blocked = {note.path for note in found.notes if note.outcome == "blocked"}
    labels = [hint.label for hint in found.hints]
    return tuple(f"{label} (blocked)" if label in blocked else label for label in labels)

"""A session's system prompt from its workspace, and the instructions of the folders it comes to.

Joins the prompt engine to a session. All reading of disk happens off the event loop.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path

import anyio
from anyio import to_thread
from pydantic import JsonValue

from acp_server.permissions.survey import Surveyor
from acp_server.session.briefing import Delivery, Subject
from acp_server.session.prompt_settings import PromptSettings
from acp_server.session.session import Workspace
from acp_server.turn.conversation import Conversation, Message, Text, ToolResult
from prompt_engine.assemble import Prompt, build
from prompt_engine.facts import Facts, HintOverride, Identity, Passage
from prompt_engine.hints import LoadedHints, loaded_in, wrap_all
from prompt_engine.inputs import FileNote
from prompt_engine.report import Entry
from prompt_engine.sources.context_files import ContextFound, ContextRequest, find_context
from prompt_engine.sources.environment import Host, profile_of, read_environment
from prompt_engine.sources.memory_snapshot import read_memory
from prompt_engine.sources.soul import read_soul
from prompt_engine.sources.subdirectory_hints import HintDelivery, HintFinder
from prompt_engine.sources.workspace_snapshot import read_workspace
from prompt_engine.threats import scan

TOLD_FATES = ("truncated", "blocked", "dropped")
TOLD_OUTCOMES = ("cut", "blocked", "unreadable", "undecodable")


@dataclass(slots=True)
class _History:
    """Which hints stand in a conversation, as far as it was looked through."""

    conversation: Conversation = field(default_factory=Conversation)
    generation: int = 0
    count: int = 0
    loaded: LoadedHints = field(default_factory=LoadedHints)


class ProjectBriefing:
    """What a session in a workspace tells its model."""

    def __init__(self, settings: PromptSettings, workspace: Workspace) -> None:
        self._settings = settings
        self._workspace = workspace
        self._secret = secrets.token_bytes(32)
        roots = (workspace.cwd, *workspace.additional)
        self._surveyor = Surveyor(roots, Path.home(), settings.home)
        self._facts: Facts | None = None
        self._prompt: Prompt | None = None
        self._found = ContextFound()
        self._finder: HintFinder | None = None
        self._history = _History()
        self._notices: tuple[str, ...] = ()
        self._told: set[str] = set()
        self._reading = anyio.Lock()
        """One thread reads at a time: a first prompt waits for what is gathered already."""

    async def gather(self) -> None:
        """Read what takes its time: the repository, the machine, the user's own files."""
        async with self._reading:
            if self._facts is None:
                self._facts = await to_thread.run_sync(self._gathered)

    async def write(self, subject: Subject) -> str:
        """Return the system prompt; a second one is made of facts that are read anew."""
        if self._prompt is not None:
            self._facts = None
        await self.gather()
        self._prompt = await to_thread.run_sync(self._written, subject)
        self._notices = tuple(_notices(self._prompt.report.entries, self._found.notes))
        return self._prompt.text

    def notices(self) -> Sequence[str]:
        """Return what of the project's and the user's files the model does not see."""
        return self._news(self._notices)

    def description(self) -> str:
        """Return a table of the prompt's sections, and the instructions that came on the way."""
        if self._prompt is None:
            return "The system prompt is written at the first prompt."
        report = self._prompt.report
        rows = [_row(entry) for entry in report.entries]
        head = "| section | source | characters | tokens | |\n|---|---|---|---|---|"
        total = f"| **all** | | {report.characters:,} | about {report.estimated_tokens:,} | |"
        table = "\n".join([head, *rows, total])
        files = self._loaded(self._history.conversation).files
        loaded = ", ".join(f"`{label}`" for label in files) or "none yet"
        return f"{table}\n\nInstructions of folders, loaded on the way: {loaded}."

    @property
    def report(self) -> JsonValue:
        """What the prompt that was written last is made of."""
        return None if self._prompt is None else self._prompt.report.as_json()

    def project_settings(self) -> Mapping[str, JsonValue]:
        """Return the frontmatter of the project's files; the nearest counts."""
        merged: dict[str, JsonValue] = {}
        for found in reversed(self._found.settings):
            merged |= found.values
        return merged

    async def instructions(
        self, conversation: Conversation, touched: Mapping[str, Sequence[str]]
    ) -> Mapping[str, Delivery]:
        """Return the instructions of the folders that were touched and are new to the model."""
        async with self._reading:
            return await to_thread.run_sync(self._delivered, conversation, touched)

    def _gathered(self) -> Facts:
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
        return Facts(
            day=_today(),
            model="",
            provider=settings.provider,
            platform=settings.platform,
            identity=Identity(soul=read_soul(home, scan, is_trusted=settings.is_trusted)),
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

    def _written(self, subject: Subject) -> Prompt:
        """Put the prompt together; the project's instructions are read at this moment."""
        settings, workspace = self._settings, self._workspace
        request = ContextRequest(
            workspace.cwd,
            workspace.additional,
            settings.agents_md_scope,
            settings.max_characters,
            subject.window_tokens,
        )
        self._found = self._allowed(find_context(request, scan, settings.is_trusted))
        facts = self._facts or self._gathered()
        return build(
            replace(
                facts,
                model=subject.model_id,
                tools=subject.tools,
                context_files=self._found.files,
                context_notes=self._found.notes,
            )
        )

    def _delivered(
        self, conversation: Conversation, touched: Mapping[str, Sequence[str]]
    ) -> Mapping[str, Delivery]:
        finder = self._finder = self._finder or HintFinder(
            (self._workspace.cwd, *self._workspace.additional), scan, self._settings.is_trusted
        )
        loaded = self._found.loaded.plus(self._loaded(conversation))
        deliveries: dict[str, Delivery] = {}
        for key, paths in touched.items():
            found = finder.find([Path(path) for path in paths], loaded)
            open_hints = tuple(each for each in found.hints if not self._is_protected(each.path))
            found = replace(found, hints=open_hints)
            loaded = loaded.plus(found.loaded)
            text = wrap_all(found.hints, found.named_only, self._secret)
            notices = self._news(_note_texts(found.notes))
            if text or notices:
                deliveries[key] = Delivery(text, _labels(found), notices)
        return deliveries

    def _allowed(self, found: ContextFound) -> ContextFound:
        """Return what was found without files that nobody reads unasked, by an ignore file say."""
        hidden = {file.path for file in found.files if self._is_protected(Path(file.path))}
        files = tuple(file for file in found.files if file.path not in hidden)
        notes = tuple(_hidden(note) if note.path in hidden else note for note in found.notes)
        return replace(found, files=files, notes=notes)

    def _is_protected(self, path: Path) -> bool:
        return self._surveyor.is_protected(self._workspace.cwd / path)

    def _news(self, notices: Sequence[str]) -> tuple[str, ...]:
        """Return what the user was not told before in this session; it counts as told then."""
        news = tuple(notice for notice in notices if notice not in self._told)
        self._told.update(news)
        return news

    def _loaded(self, conversation: Conversation) -> LoadedHints:
        """Return which hints stand in a conversation; each message is looked through once."""
        history, generation = self._history, conversation.generation
        if history.conversation is not conversation or history.generation != generation:
            history = self._history = _History(conversation, generation)
        messages = tuple(conversation)
        texts = (text for message in messages[history.count :] for text in _texts(message))
        history.loaded = history.loaded.plus(loaded_in(texts, self._secret))
        history.count = len(messages)
        return history.loaded


def _labels(found: HintDelivery) -> tuple[str, ...]:
    """Return which files a delivery holds, for the user; a blocked one is only a line in it."""
    blocked = {note.path for note in found.notes if note.outcome == "blocked"}
    labels = [hint.label for hint in found.hints]
    return tuple(f"{label} (blocked)" if label in blocked else label for label in labels)


def _hidden(note: FileNote) -> FileNote:
    reason = "it is protected, and so kept from the model"
    return FileNote(note.path, "unreadable", note.total_characters, reason=reason)


def _texts(message: Message) -> list[str]:
    return [part.text for part in message.parts if isinstance(part, Text | ToolResult)]


def _today() -> date:
    return datetime.now(UTC).astimezone().date()


def _notices(entries: Sequence[Entry], notes: Sequence[FileNote]) -> list[str]:
    """Return a sentence for each text that the model does not see as it was written."""
    files = {note.path for note in notes}
    told = [
        entry.notice
        for entry in entries
        if entry.fate in TOLD_FATES and entry.source not in files and entry.notice
    ]
    return [*told, *_note_texts(notes)]


def _note_texts(notes: Sequence[FileNote]) -> list[str]:
    return [_note_text(note) for note in notes if note.outcome in TOLD_OUTCOMES]


def _note_text(note: FileNote) -> str:
    match note.outcome:
        case "cut":
            kept, total = note.kept_characters, note.total_characters
            return f"{note.path} is long: {kept:,} of its {total:,} characters are shown"
        case "blocked":
            lines = ", ".join(f"{each.pattern} in line {each.line}" for each in note.findings[:3])
            trust = f"`acp-server context trust {note.path}` allows exactly this text"
            return f"{note.path} is kept from the model: {lines}; {trust}"
        case _:
            return f"{note.path} cannot be used: {note.reason or note.outcome}"


def _row(entry: Entry) -> str:
    fate = "" if entry.fate == "kept" else f"{entry.fate}: {entry.reason}".rstrip(": ")
    size = f"{entry.characters:,} | {entry.estimated_tokens:,}"
    return f"| {entry.name} | {entry.source} | {size} | {fate} |"

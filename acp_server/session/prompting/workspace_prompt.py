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

from acp_server.session.prompting.context_messages import note_texts, notices_on, row_of
from acp_server.session.prompting.day_change import remark_on_day
from acp_server.session.prompting.file_changes import FileNews, Standing, standing_of
from acp_server.session.prompting.file_watch import FolderWatch
from acp_server.session.prompting.loaded_files import loaded_context, loaded_hints
from acp_server.session.prompting.prompt_config import PromptSettings
from acp_server.session.prompting.provider import Delivery, LoadedFile, Subject
from acp_server.session.prompting.single_flight import BriefingReadings
from acp_server.session.prompting.workspace_reader import Gathered, Spoken, WorkspaceReader
from acp_server.session.session import Workspace
from acp_server.turn.conversation import Conversation, Message, Text, ToolResult
from prompt_engine.assemble import Prompt, build
from prompt_engine.facts import Passage
from prompt_engine.hint_blocks import LoadedHints, loaded_in, wrap_all
from prompt_engine.report import report_from
from prompt_engine.sections.workspace import workspace_list
from prompt_engine.sources.context_files import ContextFound
from prompt_engine.sources.subdirectory_hints import HintDelivery, HintFinder
from prompt_engine.threats import scan
from prompt_engine.trust import sha256_of


@dataclass(slots=True)
class _History:
    """The hints found in a conversation, as far as it was scanned."""

    conversation: Conversation = field(default_factory=Conversation)
    generation: int = 0
    count: int = 0
    loaded: LoadedHints = field(default_factory=LoadedHints)


class ProjectBriefing:
    """Prompt provider for a session in a workspace."""

    def __init__(
        self,
        settings: PromptSettings,
        workspace: Workspace,
        watch: FolderWatch | None = None,
        today: Callable[[], date] = date.today,
        readings: BriefingReadings | None = None,
    ) -> None:
        """Prepare; `readings` is shared by all sessions with the same settings."""
        self._settings = settings
        self._workspace = workspace
        self._secret = secrets.token_bytes(32)
        self._reader = WorkspaceReader(settings, workspace, readings or BriefingReadings())
        self._gathered: Gathered | None = None
        self._prompt: Prompt | None = None
        self._found = ContextFound()
        self._window_tokens: int | None = None
        self._today = today
        self._day: date | None = None
        """The day that the written prompt names."""
        self._finder: HintFinder | None = None
        self._history = _History()
        self._notices: tuple[str, ...] = ()
        self._told: set[str] = set()
        self._on_the_way: dict[str, LoadedFile] = {}
        """Instruction files delivered with tool results, by label."""
        self._standing = Standing()
        """Digests of the files as they were delivered to the model."""
        self._file_news = FileNews(watch, self._reader.home, self._compared)
        self._reading = anyio.Lock()
        """One reader thread at a time: the first prompt waits for a `gather` that is under way."""

    async def gather(self) -> None:
        """Read the slow facts: the repository, the machine, the user's own files."""
        await self._gather()

    async def write(self, subject: Subject) -> str:
        """Return the system prompt; every call after the first reads the facts again."""
        # The first prompt may use facts gathered ahead of time; a rewrite must read them again.
        if self._prompt is not None:
            self._gathered = None
        gathered = await self._gather()
        async with self._reading:
            # Watch before reading: a change in between would otherwise go unnoticed.
            if self._prompt is None:
                self._file_news.expect(gathered.places)
            spoken = await self._reader.spoken(subject.window_tokens)
            self._found, self._window_tokens = spoken.found, subject.window_tokens
            self._prompt = self._built(gathered, spoken, subject)
            await self._begin(spoken)
        self._notices = tuple(notices_on(self._prompt.report.entries, self._found.notes))
        return self._prompt.text

    def notices(self) -> Sequence[str]:
        """Return notices about project and user files that the model does not see in full."""
        return (*self._news(self._notices), *self._file_news.take())

    def listen(self, show: Callable[[str], bool]) -> None:
        """Register `show` for changed files; it returns whether the user sees it immediately."""
        self._file_news.show = show

    def close(self) -> None:
        """Stop watching files."""
        self._file_news.close()

    def description(self) -> str:
        """Return a table of the prompt's sections, and the directory instructions loaded so far."""
        if self._prompt is None:
            return "The system prompt is written at the first prompt."
        report = self._prompt.report
        rows = [row_of(entry) for entry in report.entries]
        head = "| section | source | characters | tokens | |\n|---|---|---|---|---|"
        total = f"| **all** | | {report.characters:,} | about {report.estimated_tokens:,} | |"
        table = "\n".join([head, *rows, total])
        files = self._loaded(self._history.conversation).files
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
            "day": None if self._day is None else self._day.isoformat(),
            "roots": [*map(str, self._workspace.roots)],
            "files": _digests(self._found),
            "report": self.report,
        }

    async def restore(self, text: str, state: Mapping[str, JsonValue]) -> bool:
        """Continue with a previous prompt unless its directories or files have changed."""
        seal, window = _seal(state), state.get("window")
        report = report_from(state.get("report"))
        # Stored by an older version, or damaged: write a new prompt.
        if seal is None or not isinstance(window, int | None) or report is None:
            return False
        # Other roots mean other files: the old prompt would name directories that are not open.
        if state.get("roots") != [*map(str, self._workspace.roots)]:
            return False
        spoken = await self._reader.spoken(window)
        if _digests(spoken.found) != state.get("files"):
            return False
        # The old secret is needed to recognise the hints that are already in the conversation.
        self._secret, self._window_tokens, self._found = seal, window, spoken.found
        self._prompt, self._day = Prompt(text, "", "", report), _day(state)
        await self._begin(spoken)
        return True

    def loaded(self) -> Sequence[LoadedFile]:
        """Return the instruction files that were delivered to the model."""
        return (*loaded_context(self._found), *self._on_the_way.values())

    async def findings(self) -> str:
        """Return the workspace facts as they were read."""
        return workspace_list((await self._gather()).facts)

    def project_settings(self) -> Mapping[str, JsonValue]:
        """Return the frontmatter settings of the project's files; the nearest file wins."""
        merged: dict[str, JsonValue] = {}
        for found in reversed(self._found.settings):
            merged |= found.values
        return merged

    def remarks(self, conversation: Conversation) -> Sequence[str]:
        """Return a remark on the date if it differs from the one the model last received."""
        remark = remark_on_day(conversation, self._day, self._today())
        return (remark,) if remark else ()

    async def instructions(
        self, conversation: Conversation, touched: Mapping[str, Sequence[str]]
    ) -> Mapping[str, Delivery]:
        """Return instructions of touched directories that are new to the model."""
        async with self._reading:
            found = await to_thread.run_sync(self._delivered, conversation, touched)
            if any(delivery.text for delivery in found.values()):
                self._file_news.follow(
                    await to_thread.run_sync(self._reader.places, self._standing)
                )
        return found

    async def _compared(self) -> tuple[Standing, Standing]:
        """Return the file digests as delivered to the model, and as they are on disk now."""
        # The lock keeps a rewrite from changing the delivered digests during the comparison.
        async with self._reading:
            if self._prompt is None:  # nothing was delivered yet, so nothing can differ
                return Standing(), Standing()
            spoken = await self._reader.spoken(self._window_tokens)
            hints, now = self._standing.hints, LoadedHints()
            if hints and self._finder is not None:
                now = await to_thread.run_sync(self._finder.current, hints)
            return self._standing, standing_of(spoken.found, spoken.soul, now.files)

    async def _gather(self) -> Gathered:
        async with self._reading:
            if self._gathered is None:
                self._gathered = await self._reader.gathered()
            return self._gathered

    async def _begin(self, spoken: Spoken) -> None:
        """Store the digests of the prompt's files and report changes from now on."""
        hints, places = self._standing.hints, spoken.places
        self._standing = standing_of(spoken.found, spoken.soul, hints)
        if hints:
            places = await to_thread.run_sync(self._reader.places, self._standing)
        self._file_news.begin(places)

    def _built(self, gathered: Gathered, spoken: Spoken, subject: Subject) -> Prompt:
        facts, day = gathered.facts, self._today()
        self._day = day
        return build(
            replace(
                facts,
                day=day,
                model=subject.model_id,
                tools=subject.tools,
                identity=replace(facts.identity, soul=spoken.soul),
                skills_index=Passage(subject.skills_index),
                external_memory=Passage(subject.external_memory, "memory.provider"),
                context_files=spoken.found.files,
                context_notes=spoken.found.notes,
            )
        )

    def _delivered(
        self, conversation: Conversation, touched: Mapping[str, Sequence[str]]
    ) -> Mapping[str, Delivery]:
        finder = self._finder = self._finder or HintFinder(
            self._workspace.roots, scan, self._settings.is_trusted
        )
        # Read from the conversation, not from memory: after compaction or a fork, hints that are
        # no longer in it must be delivered again.
        loaded = self._found.loaded.plus(self._loaded(conversation))
        deliveries: dict[str, Delivery] = {}
        for key, paths in touched.items():
            found = finder.find([Path(path) for path in paths], loaded)
            # Protected files stay unread even if they have the name of an instruction file.
            is_protected = self._reader.is_protected
            open_hints = tuple(each for each in found.hints if not is_protected(each.path))
            found = replace(found, hints=open_hints)
            loaded = loaded.plus(found.loaded)
            self._on_the_way |= loaded_hints(found)
            # Signed with a secret, so that a tool result cannot pretend that a file was delivered
            # already.
            text = wrap_all(found.hints, found.named_only, self._secret)
            notices = self._news(note_texts(found.notes))
            if text or notices:
                deliveries[key] = Delivery(text, _labels(found), notices)
        # Files of the system prompt are compared separately (`RELOAD`, not `TOUCH`).
        own = self._found.loaded.files
        hints = {label: digest for label, digest in loaded.files.items() if label not in own}
        self._standing = replace(self._standing, hints=hints)
        return deliveries

    def _news(self, notices: Sequence[str]) -> tuple[str, ...]:
        """Return the notices not shown before in this session, and mark them as shown."""
        news = tuple(notice for notice in notices if notice not in self._told)
        self._told.update(news)
        return news

    def _loaded(self, conversation: Conversation) -> LoadedHints:
        """Return the hints in a conversation; each message is scanned only once."""
        history, generation = self._history, conversation.generation
        # A rebuild replaces messages, so the scan must start over.
        if history.conversation is not conversation or history.generation != generation:
            history = self._history = _History(conversation, generation)
        messages = tuple(conversation)
        texts = (text for message in messages[history.count :] for text in _texts(message))
        history.loaded = history.loaded.plus(loaded_in(texts, self._secret))
        history.count = len(messages)
        return history.loaded


def _day(state: Mapping[str, JsonValue]) -> date | None:
    try:
        return date.fromisoformat(str(state.get("day")))
    except ValueError:
        return None


def _seal(state: Mapping[str, JsonValue]) -> bytes | None:
    try:
        return bytes.fromhex(str(state.get("seal")))
    except ValueError:
        return None


def _digests(found: ContextFound) -> list[JsonValue]:
    """Return the path and digest of each file in a prompt."""
    raw = [(file.path, file.text.encode(errors="surrogatepass")) for file in found.files]
    return [[path, sha256_of(text)] for path, text in raw]


def _labels(found: HintDelivery) -> tuple[str, ...]:
    """Return the labels of the delivered files for the user, blocked ones marked as such."""
    blocked = {note.path for note in found.notes if note.outcome == "blocked"}
    labels = [hint.label for hint in found.hints]
    return tuple(f"{label} (blocked)" if label in blocked else label for label in labels)


def _texts(message: Message) -> list[str]:
    return [part.text for part in message.parts if isinstance(part, Text | ToolResult)]

"""A session's system prompt from its workspace, and the instructions of the folders it comes to.

Joins the prompt engine to a session. All reading of disk happens off the event loop.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

import anyio
from anyio import to_thread
from pydantic import JsonValue

from acp_server.session.briefing import Delivery, LoadedFile, Subject
from acp_server.session.context_words import note_texts, notices_on, row_of
from acp_server.session.days import remark_on_day
from acp_server.session.file_news import FileNews, Standing, standing_of
from acp_server.session.loaded_files import loaded_context, loaded_hints
from acp_server.session.prompt_settings import PromptSettings
from acp_server.session.readings import BriefingReadings
from acp_server.session.session import Workspace
from acp_server.session.watch import FolderWatch
from acp_server.session.workspace_reader import Gathered, Spoken, WorkspaceReader
from acp_server.turn.conversation import Conversation, Message, Text, ToolResult
from prompt_engine.assemble import Prompt, build
from prompt_engine.facts import Passage
from prompt_engine.hints import LoadedHints, loaded_in, wrap_all
from prompt_engine.report import report_from
from prompt_engine.sections.workspace import workspace_list
from prompt_engine.sources.context_files import ContextFound
from prompt_engine.sources.subdirectory_hints import HintDelivery, HintFinder
from prompt_engine.threats import scan
from prompt_engine.trust import sha256_of


@dataclass(slots=True)
class _History:
    """Which hints stand in a conversation, as far as it was looked through."""

    conversation: Conversation = field(default_factory=Conversation)
    generation: int = 0
    count: int = 0
    loaded: LoadedHints = field(default_factory=LoadedHints)


class ProjectBriefing:
    """What a session in a workspace tells its model."""

    def __init__(
        self,
        settings: PromptSettings,
        workspace: Workspace,
        watch: FolderWatch | None = None,
        today: Callable[[], date] = date.today,
        readings: BriefingReadings | None = None,
    ) -> None:
        """Prepare; `readings` are those of all sessions with these settings."""
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
        """The one that the prompt names."""
        self._finder: HintFinder | None = None
        self._history = _History()
        self._notices: tuple[str, ...] = ()
        self._told: set[str] = set()
        self._on_the_way: dict[str, LoadedFile] = {}
        """Files of instructions that came with results, by their labels."""
        self._standing = Standing()
        """What files said when the model was told of them."""
        self._file_news = FileNews(watch, self._reader.home, self._compared)
        self._reading = anyio.Lock()
        """One thread reads at a time: a first prompt waits for what is gathered already."""

    async def gather(self) -> None:
        """Do what takes its time: read the repository, the machine, the user's own files."""
        await self._gather()

    async def write(self, subject: Subject) -> str:
        """Return the system prompt; a second one is made of facts that are read anew."""
        if self._prompt is not None:
            self._gathered = None
        gathered = await self._gather()
        async with self._reading:
            if self._prompt is None:  # before anything is read that may change
                self._file_news.expect(gathered.places)
            spoken = await self._reader.spoken(subject.window_tokens)
            self._found, self._window_tokens = spoken.found, subject.window_tokens
            self._prompt = self._built(gathered, spoken, subject)
            await self._begin(spoken)
        self._notices = tuple(notices_on(self._prompt.report.entries, self._found.notes))
        return self._prompt.text

    def notices(self) -> Sequence[str]:
        """Return what of the project's and the user's files the model does not see."""
        return (*self._news(self._notices), *self._file_news.take())

    def listen(self, show: Callable[[str], bool]) -> None:
        """Have the user told of files that change; `show` returns whether it is seen at once."""
        self._file_news.show = show

    def close(self) -> None:
        """Watch no files any more."""
        self._file_news.close()

    def description(self) -> str:
        """Return a table of the prompt's sections, and the instructions that came on the way."""
        if self._prompt is None:
            return "The system prompt is written at the first prompt."
        report = self._prompt.report
        rows = [row_of(entry) for entry in report.entries]
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

    def state(self) -> Mapping[str, JsonValue]:
        """Return the report on the prompt, the files in it, and the seal of the hints behind it."""
        return {
            "seal": self._secret.hex(),
            "window": self._window_tokens,
            "day": None if self._day is None else self._day.isoformat(),
            "roots": [*map(str, self._workspace.roots)],
            "files": _digests(self._found),
            "report": self.report,
        }

    async def restore(self, text: str, state: Mapping[str, JsonValue]) -> bool:
        """Go on from a former prompt, unless its folders, or files in it, have changed since."""
        seal, window = _seal(state), state.get("window")
        report = report_from(state.get("report"))
        if seal is None or not isinstance(window, int | None) or report is None:
            return False
        if state.get("roots") != [*map(str, self._workspace.roots)]:
            return False
        spoken = await self._reader.spoken(window)
        if _digests(spoken.found) != state.get("files"):
            return False
        self._secret, self._window_tokens, self._found = seal, window, spoken.found
        self._prompt, self._day = Prompt(text, "", "", report), _day(state)
        await self._begin(spoken)
        return True

    def loaded(self) -> Sequence[LoadedFile]:
        """Return the files of instructions that the model was given."""
        return (*loaded_context(self._found), *self._on_the_way.values())

    async def findings(self) -> str:
        """Return what the workspace turned out to be when the facts were read."""
        return workspace_list((await self._gather()).facts)

    def project_settings(self) -> Mapping[str, JsonValue]:
        """Return the frontmatter of the project's files; the nearest counts."""
        merged: dict[str, JsonValue] = {}
        for found in reversed(self._found.settings):
            merged |= found.values
        return merged

    def remarks(self, conversation: Conversation) -> Sequence[str]:
        """Return the day, if it is another one than the model was told of last."""
        remark = remark_on_day(conversation, self._day, self._today())
        return (remark,) if remark else ()

    async def instructions(
        self, conversation: Conversation, touched: Mapping[str, Sequence[str]]
    ) -> Mapping[str, Delivery]:
        """Return the instructions of the folders that were touched and are new to the model."""
        async with self._reading:
            found = await to_thread.run_sync(self._delivered, conversation, touched)
            if any(delivery.text for delivery in found.values()):
                self._file_news.follow(
                    await to_thread.run_sync(self._reader.places, self._standing)
                )
        return found

    async def _compared(self) -> tuple[Standing, Standing]:
        """Return what files said when the model was told, and what they say now."""
        async with self._reading:
            if self._prompt is None:  # nothing was told yet
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
        """Keep what the files of a prompt say, and have their changes told from then on."""
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
        loaded = self._found.loaded.plus(self._loaded(conversation))
        deliveries: dict[str, Delivery] = {}
        for key, paths in touched.items():
            found = finder.find([Path(path) for path in paths], loaded)
            is_protected = self._reader.is_protected
            open_hints = tuple(each for each in found.hints if not is_protected(each.path))
            found = replace(found, hints=open_hints)
            loaded = loaded.plus(found.loaded)
            self._on_the_way |= loaded_hints(found)
            text = wrap_all(found.hints, found.named_only, self._secret)
            notices = self._news(note_texts(found.notes))
            if text or notices:
                deliveries[key] = Delivery(text, _labels(found), notices)
        own = self._found.loaded.files
        hints = {label: digest for label, digest in loaded.files.items() if label not in own}
        self._standing = replace(self._standing, hints=hints)
        return deliveries

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
    """Return the files of a prompt, each with what identifies its text."""
    raw = [(file.path, file.text.encode(errors="surrogatepass")) for file in found.files]
    return [[path, sha256_of(text)] for path, text in raw]


def _labels(found: HintDelivery) -> tuple[str, ...]:
    """Return which files a delivery holds, for the user; a blocked one is only a line in it."""
    blocked = {note.path for note in found.notes if note.outcome == "blocked"}
    labels = [hint.label for hint in found.hints]
    return tuple(f"{label} (blocked)" if label in blocked else label for label in labels)


def _texts(message: Message) -> list[str]:
    return [part.text for part in message.parts if isinstance(part, Text | ToolResult)]

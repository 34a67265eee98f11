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

from acp_server.permissions.survey import Surveyor
from acp_server.session.briefing import Delivery, LoadedFile, Subject
from acp_server.session.context_words import note_texts, notices_on, row_of
from acp_server.session.days import remark_on_day
from acp_server.session.file_news import FileNews, Places, Standing, places_of, standing_of
from acp_server.session.loaded_files import loaded_context, loaded_hints
from acp_server.session.prompt_settings import PromptSettings
from acp_server.session.session import Workspace
from acp_server.session.watch import FolderWatch
from acp_server.turn.conversation import Conversation, Message, Text, ToolResult
from prompt_engine.assemble import Prompt, build
from prompt_engine.facts import Facts, HintOverride, Identity, Passage
from prompt_engine.hints import LoadedHints, loaded_in, wrap_all
from prompt_engine.inputs import FileNote
from prompt_engine.report import report_from
from prompt_engine.sections.workspace import workspace_list
from prompt_engine.sources.context_files import (
    ContextFound,
    ContextRequest,
    context_folders,
    find_context,
)
from prompt_engine.sources.environment import Host, profile_of, read_environment
from prompt_engine.sources.memory_snapshot import read_memory
from prompt_engine.sources.reading import resolve
from prompt_engine.sources.soul import read_soul
from prompt_engine.sources.subdirectory_hints import HintDelivery, HintFinder
from prompt_engine.sources.workspace_snapshot import read_workspace
from prompt_engine.threats import prepare_scan, scan
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
    ) -> None:
        self._settings = settings
        self._workspace = workspace
        self._secret = secrets.token_bytes(32)
        self._surveyor = Surveyor(workspace.roots, Path.home(), settings.home)
        self._facts: Facts | None = None
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
        self._home = resolve(workspace.cwd)
        self._on_the_way: dict[str, LoadedFile] = {}
        """Files of instructions that came with results, by their labels."""
        self._standing = Standing()
        """What files said when the model was told of them."""
        self._places_before: Places | None = None
        """Where its files were when the facts were read."""
        self._file_news = FileNews(watch, self._home, self._compared)
        self._reading = anyio.Lock()
        """One thread reads at a time: a first prompt waits for what is gathered already."""

    async def gather(self) -> None:
        """Do what takes its time: read the repository, the machine, the user's own files."""
        async with self._reading:
            if self._facts is None:
                self._facts = await to_thread.run_sync(self._gathered)

    async def write(self, subject: Subject) -> str:
        """Return the system prompt; a second one is made of facts that are read anew."""
        if self._prompt is not None:
            self._facts = None
        await self.gather()
        async with self._reading:
            if self._places_before is not None:
                self._file_news.expect(self._places_before)
            self._prompt, places = await to_thread.run_sync(self._write_and_begin, subject)
            self._file_news.begin(places)
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
        found = await to_thread.run_sync(self._found_now, window)
        if _digests(found) != state.get("files"):
            return False
        self._secret, self._window_tokens, self._found = seal, window, found
        self._prompt, self._day = Prompt(text, "", "", report), _day(state)
        self._file_news.begin(await to_thread.run_sync(self._begun))
        return True

    def loaded(self) -> Sequence[LoadedFile]:
        """Return the files of instructions that the model was given."""
        return (*loaded_context(self._found), *self._on_the_way.values())

    async def findings(self) -> str:
        """Return what the workspace turned out to be when the facts were read."""
        await self.gather()
        return "" if self._facts is None else workspace_list(self._facts)

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
                self._file_news.follow(await to_thread.run_sync(self._places))
        return found

    async def _compared(self) -> tuple[Standing, Standing]:
        """Return what files said when the model was told, and what they say now."""
        async with self._reading:
            if self._prompt is None:  # nothing was told yet
                return Standing(), Standing()
            return await to_thread.run_sync(self._standings)

    def _write_and_begin(self, subject: Subject) -> tuple[Prompt, Places]:
        prompt = self._written(subject)
        return prompt, self._begun()

    def _begun(self) -> Places:
        """Keep what the files of a prompt say, and return where they are."""
        soul = self._soul() if self._facts is None else self._facts.identity.soul
        self._standing = standing_of(self._found, soul, self._standing.hints)
        return self._places()

    def _standings(self) -> tuple[Standing, Standing]:
        found, hints = self._found_now(self._window_tokens), self._standing.hints
        now = LoadedHints() if self._finder is None else self._finder.current(hints)
        return self._standing, standing_of(found, self._soul(), now.files)

    def _places(self) -> Places:
        folders = context_folders(self._request(self._window_tokens))
        return places_of(self._standing, self._home, (*folders, self._settings.home))

    def _soul(self) -> Passage:
        settings = self._settings
        return read_soul(settings.home, scan, is_trusted=settings.is_trusted)

    def _gathered(self) -> Facts:
        prepare_scan()
        settings, workspace = self._settings, self._workspace
        home = settings.home
        memory = home / "memories"
        self._places_before = self._places()
        environment = read_environment(
            settings.variables,
            Host.here(),
            tool_shell="bash",
            hint=settings.environment_hint,
            is_python_probed=settings.probes_python,
        )
        return Facts(
            day=self._today(),
            model="",
            provider=settings.provider,
            platform=settings.platform,
            identity=Identity(self._soul(), skips_context_files=settings.skips_context_files),
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
        self._window_tokens = subject.window_tokens
        self._found = self._found_now(subject.window_tokens)
        facts, self._day = self._facts or self._gathered(), self._today()
        return build(
            replace(
                facts,
                day=self._day,
                model=subject.model_id,
                tools=subject.tools,
                skills_index=Passage(subject.skills_index),
                external_memory=Passage(subject.external_memory, "memory.provider"),
                context_files=self._found.files,
                context_notes=self._found.notes,
            )
        )

    def _found_now(self, window_tokens: int | None) -> ContextFound:
        """Return the project's instructions as they are at this moment."""
        if self._settings.skips_context_files:
            return ContextFound()
        request = self._request(window_tokens)
        return self._allowed(find_context(request, scan, self._settings.is_trusted))

    def _request(self, window_tokens: int | None) -> ContextRequest:
        settings, workspace = self._settings, self._workspace
        return ContextRequest(
            workspace.cwd,
            workspace.additional,
            settings.agents_md_scope,
            settings.max_characters,
            window_tokens,
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
            open_hints = tuple(each for each in found.hints if not self._is_protected(each.path))
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


def _hidden(note: FileNote) -> FileNote:
    reason = "it is protected, and so kept from the model"
    return FileNote(note.path, "unreadable", note.total_characters, reason=reason)


def _texts(message: Message) -> list[str]:
    return [part.text for part in message.parts if isinstance(part, Text | ToolResult)]

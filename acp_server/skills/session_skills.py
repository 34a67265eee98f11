"""Skills of one session: which it sees, invokes, loads and changes.

Loaded skills are screened and counted here, for commands and tools alike. All disk access runs in
threads.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import anyio
from anyio import to_thread

from acp_server.session.commands.registry import Offer
from acp_server.session.ports.skills import IsBuiltIn, SkillCallError, Want
from acp_server.session.prompting.single_flight import Readings
from acp_server.skills.overview import overview_of
from acp_server.skills.screening import refuse_threats, screened_index
from acp_server.skills.service import SETUP_SKILL, SkillRoom
from acp_server.skills.skill_roots import Shelf
from prompt_engine.sources.workspace_manifests import find_manifests
from skills_store import (
    Circumstances,
    IndexRequest,
    Library,
    Listing,
    SkillError,
    SkillNotFoundError,
    SkillView,
    Viewer,
    invocation_text,
    parse_invocation,
    skill_commands,
)
from skills_store.calls import Done, ManageCall
from skills_store.changes import Change
from skills_store.collection import Collection, names_in
from skills_store.skill import SKILL_FILE, Skill
from skills_store.usage import Event, Usage, ranked
from skills_store.viewing import FileView, TextFileView

Result = TypeVar("Result")
Found = tuple[tuple[Skill, ...], Collection]

HINT = "[task]"
MOST_OFFERED_CHARACTERS = 120
"""Length of a command's description: all commands are sent again when one of them changes."""
UNTRUSTED = (
    "The skill `{name}` comes from this workspace, which is not trusted. "
    "Run `acp-server trust` in the workspace to trust it."
)
PREFERENCE = "This project prefers these skills; where one fits, load it first: {names}."


class SessionSkills:
    """Skills of one session, from the roots that the trust in its workspace gives it."""

    def __init__(self, room: SkillRoom, session_id: str, workspace: Path) -> None:
        self._room = room
        self._workspace = workspace
        self._viewer = Viewer(room.environment, session_id)
        self.tools: frozenset[str] | None = None
        """The names of the tools that the session has; None while unknown."""
        self._shelf: Shelf | None = None
        self._is_trusted = False
        self._moving = anyio.Lock()
        self._is_closed = False
        self._on_change: Callable[[], None] = _nobody
        self._commands: Found = ((), Collection((), {}, (), {}, (), ()))
        self._offered: tuple[str, ...] = ()
        self._loaded: dict[str, None] = {}

    @property
    def loaded(self) -> Sequence[str]:
        """Names of the skills that the model received, in order."""
        return tuple(self._loaded)

    @property
    def home(self) -> Path:
        """The user's own skill directory, in which new skills are created."""
        return self._room.home / "skills"

    async def open(self) -> None:
        """Find the skills and follow their changes from now on."""
        await self._refresh()

    def listen(self, on_change: Callable[[], None]) -> None:
        """Call a function whenever the commands have changed."""
        self._on_change = on_change

    def commands(self, is_built_in: IsBuiltIn) -> Sequence[Offer]:
        """Return the commands that load a skill, by name."""
        skills, collection = self._commands
        return [
            Offer(command.name, _brief(command.description), HINT)
            for command in skill_commands(skills, collection, is_built_in)
        ]

    async def called(self, text: str, is_built_in: IsBuiltIn) -> str | None:
        """Return the text for the model if a prompt invokes skills; None if it invokes none."""

        def load(library: Library) -> str | None:
            call = parse_invocation(text, is_built_in, library.knows)
            if call is None:  # it may be new on the disk
                library.touched()
                call = parse_invocation(text, is_built_in, library.knows)
            if call is None:
                return None
            views = [self._load(library, name, "use") for name in call.names]
            return invocation_text(views, call.text)

        try:
            told = await self._ask(load)
        except SkillError as error:
            raise SkillCallError(str(error)) from error
        if told is None:
            await self._explain(text, is_built_in)
        return told

    async def index(self, want: Want) -> str:
        """Return the section of the system prompt that lists the skills."""
        self.tools = want.tools
        wanted = (want.tools, tuple(want.preferred))
        return await self._with_shelf(
            lambda shelf: self._index(shelf, want.preferred), self._room.index_readings, wanted
        )

    async def waiting(self) -> Sequence[str]:
        """Return the names of the workspace's own skills that only wait for the user's trust."""
        return await self._with_shelf(self._brought, self._room.brought_readings)

    async def listing(self, category: str | None = None) -> Listing:
        """Return the skills that the session sees, of one category or all."""
        return await self._ask(
            lambda library: library.list_result(self._circumstances(), category or None)
        )

    async def view(self, name: str) -> SkillView:
        """Return a skill; it counts as loaded.

        Raises:
            SkillError: it does not exist, or cannot be shown here.
        """
        return await self._ask(lambda library: self._load(library, name, "view", "use"))

    async def view_file(self, name: str, path: str) -> FileView:
        """Return a file of a skill, which counts as viewed.

        Raises:
            SkillError: it does not exist, or cannot be shown here.
        """

        def load(library: Library) -> FileView:
            view = library.view_file(name, path, self._viewer, self._circumstances())
            if isinstance(view, TextFileView):
                self._screen(library.find(name), view.place, view.content)
            self._usage.count(view.name, "view")
            return view

        return await self._ask(load)

    async def text_of(self, name: str, path: str = SKILL_FILE) -> tuple[Path, str] | None:
        """Return the path and text of a skill's file; None if it cannot be shown."""

        def look(library: Library) -> tuple[Path, str]:
            view = library.view_file(name, path)
            return view.place, view.content if isinstance(view, TextFileView) else ""

        try:
            return await self._ask(look)
        except SkillError:
            return None

    async def plan(self, call: ManageCall) -> Change:
        """Return the change that a call would make; nothing is written.

        Raises:
            SkillError: it cannot be made.
            OSError: something cannot be read.
        """
        return await self._with_shelf(lambda shelf: shelf.keeper.plan(call))

    async def commit(self, change: Change) -> Done:
        """Make a change that was planned and authorized, and refresh all sessions.

        Raises:
            SkillError: it may not be made any more.
            OSError: the disk refuses; every file is unchanged.
        """
        shelf = await self._current()
        done = await to_thread.run_sync(shelf.keeper.commit, change)
        await shelf.changed()
        return done

    async def description(self) -> str:
        """Return the skills, their state, and the hidden ones with the reason, as Markdown."""
        waiting = await self.waiting()

        def describe(library: Library) -> str:
            library.touched()
            return overview_of(
                library.collection(), self._circumstances(), self._usage.records(), waiting
            )

        return await self._ask(describe)

    def close(self) -> None:
        """Unsubscribe from changes and drop the listener."""
        self._is_closed = True
        self._on_change = _nobody  # it references the session, which could not be freed
        if self._shelf is not None:
            self._room.leave(self._shelf, self._refresh)

    async def _explain(self, text: str, is_built_in: IsBuiltIn) -> None:
        """Explain why a skill of an untrusted workspace is not loaded, if the text invokes one.

        Raises:
            SkillCallError: it does, and the workspace is not trusted.
        """
        waiting = await self.waiting()
        call = parse_invocation(text, is_built_in, waiting.__contains__) if waiting else None
        if call is not None and call.names[0] in waiting:
            raise SkillCallError(UNTRUSTED.format(name=call.names[0]))

    @property
    def _usage(self) -> Usage:
        return self._room.usage

    def _circumstances(self) -> Circumstances:
        return self._room.circumstances(self.tools)

    async def _with_shelf(
        self,
        work: Callable[[Shelf], Result],
        readings: Readings[tuple[Result] | None] | None = None,
        wanted: Hashable = None,
    ) -> Result:
        """Run work in a thread with the roots that the current trust in the workspace gives.

        The trust is read in the same thread, which saves a second wait when many sessions compete
        for threads. With `readings`, concurrent calls with the same roots and `wanted` share one
        result.
        """
        shelf, was_trusted = self._shelf, self._is_trusted

        def work_unmoved() -> tuple[Result] | None:
            # Checked in the thread that does the work: after a revocation no untrusted skill is
            # read.
            if shelf is None or self._room.is_trusted(self._workspace) != was_trusted:
                return None
            return (work(shelf),)

        if readings is None:
            done = await to_thread.run_sync(work_unmoved)
        else:
            key = (shelf, was_trusted, self._workspace, wanted)
            done = await readings.read(key, work_unmoved)
        # There were no roots yet, or the trust has changed: switch roots and run it again.
        if done is None:
            return await to_thread.run_sync(work, await self._current())
        return done[0]

    def _brought(self, shelf: Shelf) -> Sequence[str]:
        """Return the workspace's own skills; none if it is trusted, since they are visible then."""
        del shelf
        return () if self._is_trusted else self._room.brought(self._workspace)

    async def _current(self) -> Shelf:
        """Return the roots that the current trust in the workspace gives."""
        async with self._moving:
            is_trusted = await to_thread.run_sync(self._room.is_trusted, self._workspace)
            former, shelf = self._shelf, self._shelf
            if shelf is None or is_trusted != self._is_trusted:
                shelf = await self._move(is_trusted=is_trusted)
        # Outside the lock: `_refresh` comes back to this method.
        if former is not None and shelf is not former:
            await self._refresh()
        return shelf

    async def _move(self, *, is_trusted: bool) -> Shelf:
        """Switch to other roots; a session that was closed meanwhile does not stay subscribed."""
        former, workspace = self._shelf, self._workspace if is_trusted else None
        self._shelf = shelf = await self._room.join(workspace, self._refresh)
        self._is_trusted = is_trusted
        if former is not None:
            self._room.leave(former, self._refresh)
        if self._is_closed:
            self._room.leave(shelf, self._refresh)
        return shelf

    async def _ask(self, question: Callable[[Library], Result]) -> Result:
        """Query the library; if a skill is not found, read the disk again before failing.

        Raises:
            SkillError: as the question does.
        """

        def ask(shelf: Shelf) -> Result:
            try:
                return question(shelf.library)
            except SkillNotFoundError:
                shelf.library.touched()
                return question(shelf.library)

        return await self._with_shelf(ask)

    async def _refresh(self) -> None:
        """Update the commands."""
        found = await self._ask(self._found)
        names = tuple(f"{skill.full_name}: {skill.description}" for skill in found[0])
        self._commands = found
        if names != self._offered and not self._is_closed:
            self._offered = names
            self._on_change()

    def _found(self, library: Library) -> Found:
        collection = library.collection()
        return library.skills(self._circumstances()), collection

    def _load(self, library: Library, name: str, *events: Event) -> SkillView:
        view = library.view(name, self._viewer, self._circumstances())
        self._screen(library.find(name), view.folder / SKILL_FILE, view.content)
        self._usage.count(view.name, *events)
        self._loaded[view.name] = None
        return view

    def _screen(self, skill: Skill, file: Path, text: str) -> None:
        """Refuse a text with injected instructions; bundled skills are trusted.

        Raises:
            SkillError: it contains some.
        """
        if skill.root.kind != "bundled":
            refuse_threats(file, text, self._room.content_trust.is_given)

    def _index(self, shelf: Shelf, preferred: Sequence[str]) -> str:
        """Build the index; it holds for the whole session, so the disk is read each time."""
        library, rules, circumstances = shelf.library, self._room.rules, self._circumstances()
        library.touched()
        names = names_in(library.skills(circumstances))
        first = [name for name in preferred if name in names]
        index = library.index(
            IndexRequest(
                circumstances,
                rules.unrelated if is_of_code(self._workspace) else frozenset(),
                rules.most_characters,
                tuple(dict.fromkeys((*first, *_recent(self._usage, names)))),
                SETUP_SKILL,
            )
        )
        told = PREFERENCE.format(names=", ".join(f"`{name}`" for name in first))
        return screened_index(f"{index}\n\n{told}" if first else index)


def is_of_code(folder: Path) -> bool:
    """Return whether a directory is in a repository or has a package manifest. Blocks."""
    is_in_repository = any((each / ".git").exists() for each in (folder, *folder.parents))
    return is_in_repository or bool(find_manifests(folder))


def _recent(usage: Usage, names: Sequence[str]) -> Iterator[str]:
    """Yield the skills that were used at some time, the last one first."""
    records = usage.records()
    known = [name for name in names if (record := records.get(name)) and record.last_activity_at]
    yield from ranked(records, known)


def _brief(text: str) -> str:
    line = " ".join(text.split())
    is_short = len(line) <= MOST_OFFERED_CHARACTERS
    return line if is_short else f"{line[: MOST_OFFERED_CHARACTERS - 1]}…"


def _nobody() -> None: ...

"""Skills of one session: which it sees, invokes, loads and changes.

Loaded skills are screened and counted here, for commands and tools alike. All disk access runs in
threads.
"""

from collections.abc import Awaitable, Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import anyio
from anyio import to_thread

from acp_server.session.commands.command import ListedCommand
from acp_server.session.ports.skills import IsBuiltIn, SkillCallError, SkillIndexRequest
from acp_server.session.prompting.single_flight import SingleFlight
from acp_server.skills.overview import render_overview
from acp_server.skills.screening import refuse_threats, screen_index
from acp_server.skills.service import SETUP_SKILL, SkillService
from acp_server.skills.skill_roots import SkillRoots
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.lines import to_single_line
from acp_server.turn.ports import TurnSink
from prompt_engine.sources.workspace_manifests import find_manifests
from skills_store.bundles import SkillBundle, bundle_commands, read_bundles
from skills_store.calls import ManageCall, ManageResult
from skills_store.changes import SkillChange
from skills_store.collection import SkillCollection, names_in
from skills_store.errors import SkillError, SkillNotFoundError
from skills_store.index import IndexRequest
from skills_store.invocation import (
    PREFIX,
    list_skill_commands,
    parse_invocation,
    render_invocation,
)
from skills_store.library import SkillLibrary, SkillListing, offered_skills
from skills_store.requirements import NeedsContext
from skills_store.skill import SKILL_FILE, Skill
from skills_store.usage import SkillUsageStore, UsageEvent, rank_by_activity
from skills_store.viewing import FileView, SkillView, TextFileView, ViewContext
from skills_store.visibility import VisibilityFacts

Result = TypeVar("Result")
FoundCommands = tuple[tuple[Skill, ...], SkillCollection]

HINT = "[task]"
MAX_DESCRIPTION_CHARACTERS = 120
"""Length of a command's description: all commands are sent again when one of them changes."""
UNTRUSTED = (
    "The skill `{name}` comes from this workspace, which is not trusted. "
    "Run `acp-server trust` in the workspace to trust it."
)
PREFERENCE = "This project prefers these skills; where one fits, load it first: {names}."


PrepareCall = Callable[[SkillView, TurnSink], Awaitable[SkillView]]
"""Requests what a skill needs, shown in a turn; returns the skill as it is then."""


async def _prepare_nothing(view: SkillView, sink: TurnSink) -> SkillView:
    del sink
    return view


@frozen_dataclass
class _LoadedCall:
    """The skills that a prompt invokes, and the words around them."""

    views: Sequence[SkillView]
    text: str
    preface: tuple[str, ...] = ()


class SessionSkills:
    """Skills of one session, from the roots that the trust in its workspace gives it."""

    def __init__(self, skill_service: SkillService, session_id: str, workspace: Path) -> None:
        self._service = skill_service
        self._workspace = workspace
        self._viewer = ViewContext(skill_service.environment, session_id)
        self.prepare_call: PrepareCall = _prepare_nothing
        """Requests what a skill needs that the user calls."""
        self.tools: frozenset[str] | None = None
        """The names of the tools that the session has; None while unknown."""
        self._roots: SkillRoots | None = None
        self._is_trusted = False
        self._switch_lock = anyio.Lock()
        self._is_closed = False
        self._listener: Callable[[], None] = _no_listener
        self._commands: FoundCommands = ((), SkillCollection((), {}, (), {}, (), ()))
        self._offered: tuple[str, ...] = ()
        self._loaded: dict[str, None] = {}
        self._bundles: Mapping[str, SkillBundle] = {}

    @property
    def loaded(self) -> Sequence[str]:
        """Names of the skills that the model received, in order."""
        return tuple(self._loaded)

    @property
    def home(self) -> Path:
        """The user's own skill directory, in which new skills are created."""
        return self._service.home / "skills"

    async def load(self, on_change: Callable[[], None]) -> None:
        """Find the skills and follow their changes from now on; report changed commands."""
        await self._refresh()
        # Only now: the caller lists the commands that were just found by itself.
        self._listener = on_change

    def commands(self, is_built_in: IsBuiltIn) -> Sequence[ListedCommand]:
        """Return the commands that load a skill, by name."""
        skills, collection = self._commands
        listed = {each.name: each for each in list_skill_commands(skills, collection, is_built_in)}
        # A bundle comes before a skill of its name, but not before a built-in command.
        bundles = (each for each in bundle_commands(self._bundles) if not is_built_in(each.name))
        listed |= {each.name: each for each in bundles}
        return [
            ListedCommand(
                command.name, to_single_line(command.description, MAX_DESCRIPTION_CHARACTERS), HINT
            )
            for command in sorted(listed.values(), key=lambda each: each.name)
        ]

    async def expand_calls(self, text: str, is_built_in: IsBuiltIn, sink: TurnSink) -> str | None:
        """Return the text for the model if a prompt invokes skills; None if it invokes none."""

        def load(library: SkillLibrary) -> _LoadedCall | None:
            bundle = self._find_bundle(text, is_built_in)
            if bundle is not None:
                return self._load_bundle(library, bundle, text)
            call = parse_invocation(text, is_built_in, library.is_known)
            if call is None:  # it may be new on the disk
                library.mark_changed()
                call = parse_invocation(text, is_built_in, library.is_known)
            if call is None:
                return None
            return _LoadedCall([self._load(library, name, "use") for name in call.names], call.text)

        try:
            loaded = await self._query(load)
        except SkillError as error:
            raise SkillCallError(str(error)) from error
        if loaded is None:
            await self._raise_if_untrusted(text, is_built_in)
            return None
        views = [await self.prepare_call(view, sink) for view in loaded.views]
        return "\n\n".join([*loaded.preface, render_invocation(views, loaded.text)])

    def _find_bundle(self, text: str, is_built_in: IsBuiltIn) -> SkillBundle | None:
        """Return the bundle that a prompt invokes. Blocks: its file may be new."""
        found = parse_invocation(text, is_built_in, lambda name: not name.startswith("/"))
        if found is None or text.lstrip().startswith(f"/{PREFIX}"):
            return None
        return read_bundles(self._service.home).get(found.names[0].replace("_", "-"))

    def _load_bundle(self, library: SkillLibrary, bundle: SkillBundle, text: str) -> _LoadedCall:
        """Return the skills of a bundle; those that cannot be loaded are named."""
        views: list[SkillView] = []
        problems: list[str] = []
        for name in bundle.skills:
            try:
                views.append(self._load(library, name, "use"))
            except SkillError as error:
                problems.append(f"[Of the bundle, {name!r} is not loaded: {error}]")
        if not views:
            raise SkillCallError("\n".join(problems))
        _, _, words = text.strip().partition(" ")
        instruction = (bundle.instruction,) if bundle.instruction else ()
        return _LoadedCall(views, words.strip(), (*problems, *instruction))

    async def index(self, request: SkillIndexRequest) -> str:
        """Return the section of the system prompt that lists the skills."""
        self.tools = request.tools
        key = (request.tools, tuple(request.preferred))
        return await self._run_with_roots(
            lambda skill_roots: self._build_index(skill_roots, request.preferred),
            self._service.index_reads,
            key,
        )

    async def untrusted_names(self) -> Sequence[str]:
        """Return the names of the workspace's own skills that only wait for the user's trust."""
        return await self._run_with_roots(
            self._workspace_skill_names, self._service.workspace_reads
        )

    async def listing(self, category: str | None = None) -> SkillListing:
        """Return the skills that the session sees, of one category or all."""
        return await self._query(
            lambda library: library.list_skills(self._visibility_facts(), category or None)
        )

    async def view(self, name: str) -> SkillView:
        """Return a skill; it counts as loaded.

        Raises:
            SkillError: it does not exist, or cannot be shown here.
        """
        return await self._query(lambda library: self._load(library, name, "view", "use"))

    async def view_file(self, name: str, path: str) -> FileView:
        """Return a file of a skill, which counts as viewed.

        Raises:
            SkillError: it does not exist, or cannot be shown here.
        """

        def load(library: SkillLibrary) -> FileView:
            view = library.view_file(name, path, self._viewer, self._visibility_facts())
            if isinstance(view, TextFileView):
                self._screen(library.find(name), view.absolute_path, view.content)
            self._usage.count(view.name, "view")
            return view

        return await self._query(load)

    async def text_of(self, name: str, path: str = SKILL_FILE) -> tuple[Path, str] | None:
        """Return the path and text of a skill's file; None if it cannot be shown."""

        def read(library: SkillLibrary) -> tuple[Path, str]:
            view = library.view_file(name, path)
            return view.absolute_path, view.content if isinstance(view, TextFileView) else ""

        try:
            return await self._query(read)
        except SkillError:
            return None

    async def plan(self, call: ManageCall) -> SkillChange:
        """Return the change that a call would make; nothing is written.

        Raises:
            SkillError: it cannot be made.
            OSError: something cannot be read.
        """
        return await self._run_with_roots(lambda skill_roots: skill_roots.editor.plan(call))

    async def commit(self, change: SkillChange) -> ManageResult:
        """Make a change that was planned and authorized, and refresh all sessions.

        Raises:
            SkillError: it may not be made any more.
            OSError: the disk refuses; every file is unchanged.
        """
        skill_roots = await self._current_roots()
        result = await to_thread.run_sync(skill_roots.editor.commit, change)
        await skill_roots.invalidate()
        return result

    async def describe(self) -> str:
        """Return the skills, their state, and the hidden ones with the reason, as Markdown."""
        untrusted = await self.untrusted_names()

        def describe(library: SkillLibrary) -> str:
            library.mark_changed()
            return render_overview(
                library.collection(), self._visibility_facts(), self._usage.records(), untrusted
            )

        return await self._query(describe)

    def close(self) -> None:
        """Unsubscribe from changes and drop the listener."""
        self._is_closed = True
        self._listener = _no_listener  # it references the session, which could not be freed
        if self._roots is not None:
            self._service.unsubscribe(self._roots, self._refresh)

    async def _raise_if_untrusted(self, text: str, is_built_in: IsBuiltIn) -> None:
        """Explain why a skill of an untrusted workspace is not loaded, if the text invokes one.

        Raises:
            SkillCallError: it does, and the workspace is not trusted.
        """
        untrusted = await self.untrusted_names()
        call = parse_invocation(text, is_built_in, untrusted.__contains__) if untrusted else None
        if call is not None and call.names[0] in untrusted:
            raise SkillCallError(UNTRUSTED.format(name=call.names[0]))

    @property
    def _usage(self) -> SkillUsageStore:
        return self._service.usage

    def _visibility_facts(self) -> VisibilityFacts:
        return self._service.visibility_facts(self.tools)

    async def _run_with_roots(
        self,
        work: Callable[[SkillRoots], Result],
        reads: SingleFlight[tuple[Result] | None] | None = None,
        request_key: Hashable = None,
    ) -> Result:
        """Run work in a thread with the roots that the current trust in the workspace gives.

        The trust is read in the same thread, which saves a second wait when many sessions compete
        for threads. With `reads`, concurrent calls with the same roots and `request_key` share one
        result.
        """
        skill_roots, was_trusted = self._roots, self._is_trusted

        def work_if_unchanged() -> tuple[Result] | None:
            # Checked in the thread that does the work: after a revocation no untrusted skill is
            # read.
            if skill_roots is None or self._service.is_trusted(self._workspace) != was_trusted:
                return None
            return (work(skill_roots),)

        if reads is None:
            result = await to_thread.run_sync(work_if_unchanged)
        else:
            key = (skill_roots, was_trusted, self._workspace, request_key)
            result = await reads.run(key, work_if_unchanged)
        # There were no roots yet, or the trust has changed: switch roots and run it again.
        if result is None:
            return await to_thread.run_sync(work, await self._current_roots())
        return result[0]

    def _workspace_skill_names(self, skill_roots: SkillRoots) -> Sequence[str]:
        """Return the workspace's own skills; none if it is trusted, since they are visible then."""
        del skill_roots
        return () if self._is_trusted else self._service.workspace_skill_names(self._workspace)

    async def _current_roots(self) -> SkillRoots:
        """Return the roots that the current trust in the workspace gives."""
        async with self._switch_lock:
            is_trusted = await to_thread.run_sync(self._service.is_trusted, self._workspace)
            previous, skill_roots = self._roots, self._roots
            if skill_roots is None or is_trusted != self._is_trusted:
                skill_roots = await self._switch_roots(is_trusted=is_trusted)
        # Outside the lock: `_refresh` comes back to this method.
        if previous is not None and skill_roots is not previous:
            await self._refresh()
        return skill_roots

    async def _switch_roots(self, *, is_trusted: bool) -> SkillRoots:
        """Switch to other roots; a session that was closed meanwhile does not stay subscribed."""
        previous, workspace = self._roots, self._workspace if is_trusted else None
        self._roots = skill_roots = await self._service.subscribe(workspace, self._refresh)
        self._is_trusted = is_trusted
        if previous is not None:
            self._service.unsubscribe(previous, self._refresh)
        if self._is_closed:
            self._service.unsubscribe(skill_roots, self._refresh)
        return skill_roots

    async def _query(self, query: Callable[[SkillLibrary], Result]) -> Result:
        """Query the library; if a skill is not found, read the disk again before failing.

        Raises:
            SkillError: as the question does.
        """

        def run_query(skill_roots: SkillRoots) -> Result:
            try:
                return query(skill_roots.library)
            except SkillNotFoundError:
                skill_roots.library.mark_changed()
                return query(skill_roots.library)

        return await self._run_with_roots(run_query)

    async def _refresh(self) -> None:
        """Update the commands."""

        def find_commands(library: SkillLibrary) -> FoundCommands:
            collection = library.collection()
            self._bundles = read_bundles(self._service.home)
            return offered_skills(collection, self._visibility_facts()), collection

        self._commands = await self._query(find_commands)
        names = tuple(
            f"{name}: {description}"
            for name, description in (
                *((skill.full_name, skill.description) for skill in self._commands[0]),
                *((each.name, each.description) for each in self._bundles.values()),
            )
        )
        if names != self._offered and not self._is_closed:
            self._offered = names
            self._listener()

    def _load(self, library: SkillLibrary, name: str, *events: UsageEvent) -> SkillView:
        needs = NeedsContext(self._service.home, self._service.config.config, self.tools)
        viewer = replace(self._viewer, needs=needs)
        view = library.view(name, viewer, self._visibility_facts())
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
            refuse_threats(file, text, self._service.content_trust.is_trusted)

    def _build_index(self, skill_roots: SkillRoots, preferred: Sequence[str]) -> str:
        """Build the index; it holds for the whole session, so the disk is read each time."""
        library, config = skill_roots.library, self._service.config
        facts = self._visibility_facts()
        library.mark_changed()
        collection = library.collection()
        names = names_in(offered_skills(collection, facts))
        preferred_names = [name for name in preferred if name in names]
        # After the preferred skills those that were used at some time, the last one first.
        records = self._usage.records()
        used = [name for name in names if (record := records.get(name)) and record.last_activity_at]
        first_names = tuple(dict.fromkeys((*preferred_names, *rank_by_activity(records, used))))
        is_code = is_code_workspace(self._workspace)
        name_only = frozenset(config.name_only_categories if is_code else ())
        index = library.index(
            IndexRequest(facts, name_only, config.max_characters, first_names, SETUP_SKILL),
            collection,
        )
        preference = PREFERENCE.format(names=", ".join(f"`{name}`" for name in preferred_names))
        return screen_index(f"{index}\n\n{preference}" if preferred_names else index)


def is_code_workspace(folder: Path) -> bool:
    """Return whether a directory is in a repository or has a package manifest. Blocks."""
    is_in_repository = any((each / ".git").exists() for each in (folder, *folder.parents))
    return is_in_repository or bool(find_manifests(folder))


def _no_listener() -> None: ...

"""The tool `search_files`: searches file contents, or finds files by name."""

from functools import partial

from anyio import to_thread
from pydantic import Field

from acp_server.permissions.effects import ReadFiles
from acp_server.permissions.questions import Question
from acp_server.tools.arguments import Arguments, SoFar
from acp_server.tools.call_reporter import Report
from acp_server.tools.display_paths import shown, target_of
from acp_server.tools.edit.edit_flow import Workshop
from acp_server.tools.files.errors import FileError
from acp_server.tools.files.paths import Place
from acp_server.tools.search.query import OutputMode, Query, SearchError, Target
from acp_server.tools.search.ripgrep import find_ripgrep
from acp_server.tools.search.search import search
from acp_server.tools.shell.confinement.sandbox import SessionSandbox
from acp_server.tools.tool import Description, Tool, Use, spec_of
from acp_server.turn.events import Location
from acp_server.turn.ports import Outcome

DESCRIPTION = (
    "Search file contents by regex (ripgrep), or with target=files find files by glob, newest "
    "first. Respects .gitignore. Prefer it to grep, find and ls in the terminal."
)

MOST_TITLE_CHARACTERS = 60


class SearchArguments(Arguments):
    """The pattern to search for, and where."""

    pattern: str
    target: Target = "content"
    path: str = "."
    file_glob: str | None = None
    limit: int = Field(default=20, ge=1, le=500)
    offset: int = Field(default=0, ge=0)
    output_mode: OutputMode = "content"
    context: int = Field(default=0, ge=0, le=20)


class SearchUse(Use[SearchArguments]):
    """One call of `search_files`."""

    def __init__(self, workshop: Workshop, sandbox: SessionSandbox | None, report: Report) -> None:
        super().__init__(SearchArguments, report)
        self._workshop = workshop
        self._sandbox = sandbox

    def describe(self, so_far: SoFar) -> Description | None:
        """Return the pattern and the directory as the title."""
        pattern = so_far.text("pattern")
        if not pattern:
            return None
        path, file_glob = so_far.whole("path"), so_far.whole("file_glob")
        where = f" in {path}" if path not in {None, "."} else ""
        title = f"Search `{_brief(pattern)}`{where}" + (f" ({file_glob})" if file_glob else "")
        try:
            place = self._workshop.path_of(path or ".")
        except FileError:
            return Description(title)
        return Description(title, (Location(str(place)),))

    async def run(self, arguments: SearchArguments) -> Outcome:
        """Ask permission and search."""
        try:
            place = await self._workshop.place(arguments.path)
            refusal = await self._workshop.gate.pass_through(self._question(place, arguments))
            if refusal is not None:
                return Outcome(refusal.reason, is_error=True)
            await self.report.begin()
            return await self._search(place, arguments)
        except FileError as error:
            return Outcome(error.reason, is_error=True)
        except SearchError as error:
            return Outcome(error.reason, is_error=True)

    def _question(self, place: Place, arguments: SearchArguments) -> Question:
        return Question(
            call_id=self.report.call_id,
            effect=ReadFiles((target_of(place),)),
            title=f"Search `{_brief(arguments.pattern)}` in {place.path}",
            kind="search",
            locations=(Location(str(place.path)),),
        )

    async def _search(self, place: Place, arguments: SearchArguments) -> Outcome:
        query = Query(
            pattern=arguments.pattern,
            root=place.real,  # not `path`: a link may be replaced after the permission
            target=arguments.target,
            file_glob=arguments.file_glob,
            limit=arguments.limit,
            offset=arguments.offset,
            output_mode=arguments.output_mode,
            context=arguments.context,
        )
        gate = self._workshop.gate
        # If the root itself is protected, the user was asked about it and agreed, so protected
        # files in it are searched too. Otherwise they are excluded.
        is_leave_given = not await gate.may_preview(place.path)
        left_out = () if is_leave_given else gate.left_out_of_searches()
        launcher = await self._launcher(place, hides=not is_leave_given)
        found = await search(query, self._workshop.workspace.cwd, left_out, launcher)
        hits = tuple(Location(str(hit.path), hit.line) for hit in found.hits)
        title = f"Search `{_brief(arguments.pattern)}`"
        where = shown(place.path, self._workshop.workspace.cwd)
        title += f" in {where}" if where != "." else ""
        places = hits or (Location(str(place.path)),)
        await self.report.describe(f"{title}: {_count(found.total)}", places)
        return Outcome(found.text, touched=(str(place.path),))

    async def _launcher(self, place: Place, *, hides: bool) -> tuple[str, ...]:
        """Return the command prefix that confines ripgrep to the directory that was permitted.

        Security: links are resolved before the search. If one is replaced after that check, the
        sandbox keeps ripgrep from reading the file it leads to.
        """
        if self._sandbox is None:
            return ()
        program = await to_thread.run_sync(find_ripgrep)
        return await self._sandbox.launch_search(place.real, program, hides=hides)


def _count(total: int | None) -> str:
    return "many" if total is None else f"{total:,} found" if total else "nothing"


def _brief(pattern: str) -> str:
    line = " ".join(pattern.split())
    return line if len(line) <= MOST_TITLE_CHARACTERS else f"{line[:MOST_TITLE_CHARACTERS]}…"


def search_files_tool(workshop: Workshop, sandbox: SessionSandbox | None) -> Tool:
    """Return the tool for a session; `sandbox` confines searches to the permitted directory."""
    spec = spec_of("search_files", DESCRIPTION, SearchArguments)
    return Tool(spec, "search", "Search", partial(SearchUse, workshop, sandbox))

"""The tool `search_files`: searches file contents, or finds files by name."""

from functools import partial

from anyio import to_thread
from pydantic import Field

from acp_server.session.saved_outputs import SavedOutputs
from acp_server.tools.arguments import Arguments, PartialArguments
from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.display_paths import display_path
from acp_server.tools.edit.edit_flow import EditServices, read_question
from acp_server.tools.search.query import FileSearchQuery, OutputMode, SearchTarget
from acp_server.tools.search.ripgrep import find_ripgrep
from acp_server.tools.search.search import search
from acp_server.tools.shell.confinement.sandbox import SessionSandbox
from acp_server.tools.shortening import one_line
from acp_server.tools.symbols.lazy_imports import name_enclosing
from acp_server.tools.tool import CallDescription, Tool, TypedToolUse, build_spec
from acp_server.turn.call_access import READS
from acp_server.turn.events import Location
from acp_server.turn.ports import ToolOutcome

DESCRIPTION = (
    "Search file contents by a regex, or find files by name with target=files. Files in .gitignore "
    "are left out."
)

MAX_TITLE_CHARACTERS = 60
MAX_RESULT_CHARACTERS = 25_000


class SearchFilesArguments(Arguments):
    """The pattern to search for, and where."""

    pattern: str = Field(description="regex; with target=files, a glob such as **/test_*.py")
    target: SearchTarget = Field(
        default="content", description="content (default): lines; files: names of files"
    )
    path: str = Field(default=".", description="where to search (default: the workspace)")
    file_glob: str | None = Field(default=None, description="only these files, such as *.py")
    limit: int = Field(default=20, ge=1, le=500, description="results (default 20)")
    offset: int = Field(default=0, ge=0, description="results to skip (default 0)")
    output_mode: OutputMode = Field(
        default="content",
        description="content: the lines (default); files_only: their files; count: per file",
    )
    context: int = Field(
        default=0, ge=0, le=20, description="lines before and after each match (default 0)"
    )


class SearchFilesUse(TypedToolUse[SearchFilesArguments]):
    """One call of `search_files`."""

    usual_access = READS

    def __init__(
        self,
        services: EditServices,
        sandbox: SessionSandbox | None,
        outputs: SavedOutputs,
        reporter: CallReporter,
    ) -> None:
        super().__init__(SearchFilesArguments, reporter)
        self._outputs = outputs
        self._services = services
        self._sandbox = sandbox

    def describe(self, so_far: PartialArguments) -> CallDescription | None:
        """Return the pattern and the directory as the title."""
        pattern = so_far.text("pattern")
        if not pattern:
            return None
        path, file_glob = so_far.complete_text("path"), so_far.complete_text("file_glob")
        location_text = f" in {path}" if path not in {None, "."} else ""
        title = f"Search `{one_line(pattern, MAX_TITLE_CHARACTERS)}`{location_text}" + (
            f" ({file_glob})" if file_glob else ""
        )
        return CallDescription(title, self._services.locations_of(path or "."))

    async def run(self, arguments: SearchFilesArguments) -> ToolOutcome:
        """Ask permission and search."""
        resolved = await self._services.resolve(arguments.path)
        title = f"Search `{one_line(arguments.pattern, MAX_TITLE_CHARACTERS)}`"
        question = read_question(
            self.reporter.call_id, f"{title} in {resolved.path}", resolved, kind="search"
        )
        await self.require_permission(self._services.gate, question)
        query = FileSearchQuery(
            pattern=arguments.pattern,
            root=resolved.real,  # not `path`: a link may be replaced after the permission
            target=arguments.target,
            file_glob=arguments.file_glob,
            limit=arguments.limit,
            offset=arguments.offset,
            output_mode=arguments.output_mode,
            context=arguments.context,
        )
        gate = self._services.gate
        # If the root itself is protected, the user was asked about it and agreed, so protected
        # files in it are searched too. Otherwise they are excluded.
        is_root_permitted = not await gate.can_preview(resolved.path)
        excludes = () if is_root_permitted else gate.search_excludes()
        # Security: links are resolved before the search. If one is replaced after that check, the
        # sandbox keeps ripgrep from reading the file it leads to.
        launcher: tuple[str, ...] = ()
        workspace = self._services.workspace
        if self._sandbox is not None:
            program = await to_thread.run_sync(find_ripgrep, workspace.roots)
            launcher = await self._sandbox.wrap_search(
                resolved.real, program, hides_private_paths=not is_root_permitted
            )
        name_symbols = partial(name_enclosing, self._services, resolved)
        result = await search(
            query, workspace.cwd, excludes, launcher, workspace.roots, name_symbols
        )
        hits = tuple(Location(str(hit.path), hit.line) for hit in result.hits)
        shown_path = display_path(resolved.path, workspace.cwd)
        title += f" in {shown_path}" if shown_path != "." else ""
        locations = hits or (Location(str(resolved.path)),)
        count = "many" if result.total is None else f"{result.total:,} found"
        await self.reporter.describe(
            f"{title}: {count if result.total != 0 else 'nothing'}", locations
        )
        call_id = self.reporter.call_id
        output = await self._outputs.excerpt(call_id, result.text, MAX_RESULT_CHARACTERS)
        return ToolOutcome(
            output.text, touched_paths=(str(resolved.path),), saved_to=output.saved_to
        )


def search_files_tool(
    services: EditServices, sandbox: SessionSandbox | None, outputs: SavedOutputs
) -> Tool:
    """Return the tool for a session; `sandbox` confines searches to the permitted directory."""
    spec = build_spec("search_files", DESCRIPTION, SearchFilesArguments)
    create_use = partial(SearchFilesUse, services, sandbox, outputs)
    return Tool(spec, "search", "Search", create_use, returns_data=True)

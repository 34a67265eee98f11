"""The tool `web_fetch`: returns a web page as readable text; each site needs permission.

Security: a redirect to another site needs permission again. The page's text is untrusted: it is
marked as data for the model. HTTP itself is in `tools/web`.
"""

from functools import partial

from anyio import to_thread
from pydantic import Field

from acp_server.permissions.effects import FetchUrl
from acp_server.permissions.gate import Gate
from acp_server.permissions.questions import PermissionQuestion
from acp_server.session.commands.markdown import fenced_block
from acp_server.session.saved_outputs import SavedOutputs, describe_file
from acp_server.tools.arguments import Arguments, PartialArguments
from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.tool import CallDescription, Tool, TypedToolUse, build_spec
from acp_server.tools.web.addresses import WebAddress, parse_address
from acp_server.tools.web.fetching import PageFetcher
from acp_server.tools.web.pages import (
    MAX_SHOWN_CHARACTERS as MAX_PART_CHARACTERS,
)
from acp_server.tools.web.pages import (
    WebPage,
    render_page,
    render_saved_page,
)
from acp_server.turn.call_access import READS
from acp_server.turn.conversation import Text
from acp_server.turn.events import CallKind
from acp_server.turn.ports import ToolOutcome
from prompt_engine.findings import ThreatScan

DESCRIPTION = "Read a web page as text. The user is asked about each new site."
KIND: CallKind = "fetch"
MAX_SHOWN_CHARACTERS = 2_000


class WebFetchArguments(Arguments):
    """A URL, and the offset in the page's text to continue from."""

    url: str = Field(description="its address")
    offset: int = Field(default=0, ge=0, description="first character (default 0)")


class WebFetchUse(TypedToolUse[WebFetchArguments]):
    """One call of `web_fetch`."""

    usual_access = READS

    def __init__(
        self,
        fetcher: PageFetcher,
        gate: Gate,
        scan: ThreatScan,
        outputs: SavedOutputs,
        reporter: CallReporter,
    ) -> None:
        super().__init__(WebFetchArguments, reporter)
        self._fetcher = fetcher
        self._gate = gate
        self._scan = scan
        self._outputs = outputs

    def describe(self, so_far: PartialArguments) -> CallDescription | None:
        """Return the URL as the title."""
        url = so_far.complete_text("url")
        return CallDescription(f"Fetch {url}") if url else None

    async def run(self, arguments: WebFetchArguments) -> ToolOutcome:
        """Fetch the page."""
        address = parse_address(arguments.url)
        # The callback is called for the first site, and for each other site of a redirect.
        page = await self._fetcher.fetch(address, self._ask_permission)
        source = saved_to = ""
        # Once: the calls for the following parts need no further copies.
        if not arguments.offset and len(page.text) > MAX_PART_CHARACTERS:
            whole = render_saved_page(page)
            saved_to = await self._outputs.save(self.reporter.call_id, whole)
            source = describe_file(saved_to, len(whole.splitlines())) if saved_to else ""
        text = await to_thread.run_sync(
            render_page, page, address, arguments.offset, self._scan, source
        )
        shown = _shown_content(page)
        return ToolOutcome(text, is_error=page.is_error, shown=shown, saved_to=saved_to)

    async def _ask_permission(self, address: WebAddress) -> None:
        """Show the address, and ask permission to fetch from its site.

        Raises:
            RefusedError: Permission was refused.
        """
        title, content = f"Fetch {address}", (Text(fenced_block(str(address))),)
        await self.reporter.describe(title, ())
        await self.reporter.show(content)
        effect = FetchUrl(address.site, str(address))
        question = PermissionQuestion(self.reporter.call_id, effect, title, KIND, content)
        await self.require_permission(self._gate, question)


def _shown_content(page: WebPage) -> tuple[Text, ...]:
    """Return the page for the user: title, type, remarks and the beginning of the text."""
    lines = [f"{page.title or page.address}", f"{page.media_type}, {len(page.text):,} characters"]
    lines += [f"Note: {remark}" for remark in page.remarks]
    beginning = page.text[:MAX_SHOWN_CHARACTERS]
    ellipsis = " …" if len(page.text) > MAX_SHOWN_CHARACTERS else ""
    blocks = [Text("\n".join(lines))]
    blocks += [Text(fenced_block(beginning + ellipsis))] if beginning else []
    return tuple(blocks)


def web_fetch_tool(
    fetcher: PageFetcher, gate: Gate, scan: ThreatScan, outputs: SavedOutputs
) -> Tool:
    """Return the tool for a session."""
    spec = build_spec("web_fetch", DESCRIPTION, WebFetchArguments)
    return Tool(spec, KIND, "Fetch a page", partial(WebFetchUse, fetcher, gate, scan, outputs))

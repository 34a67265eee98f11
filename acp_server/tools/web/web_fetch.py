"""The tool `web_fetch`: returns a web page as readable text; each site needs permission.

Security: a redirect to another site needs permission again. The page's text is untrusted: it is
marked as data for the model. HTTP itself is in `tools/web`.
"""

from functools import partial
from typing import Annotated

from anyio import to_thread
from pydantic import Field

from acp_server.permissions.effects import FetchUrl
from acp_server.permissions.gate import Gate
from acp_server.permissions.questions import Question
from acp_server.session.commands.markdown import block
from acp_server.tools.arguments import Arguments, SoFar
from acp_server.tools.call_reporter import Report
from acp_server.tools.tool import Description, Tool, Use, spec_of
from acp_server.tools.web.addresses import WebAddress, read_address
from acp_server.tools.web.errors import WebError
from acp_server.tools.web.fetching import Fetcher, LeaveRefusedError
from acp_server.tools.web.pages import Page, told
from acp_server.turn.conversation import Text
from acp_server.turn.events import CallKind
from acp_server.turn.ports import Outcome
from prompt_engine.findings import Scan

DESCRIPTION = (
    "Read a web page as text. The user is asked for each new site. offset: go on in a long page."
)
KIND: CallKind = "fetch"
MOST_SHOWN_CHARACTERS = 2_000


class WebFetchArguments(Arguments):
    """A URL, and the offset in the page's text to continue from."""

    url: str
    offset: Annotated[int, Field(ge=0)] = 0


class WebFetchUse(Use[WebFetchArguments]):
    """One call of `web_fetch`."""

    def __init__(self, fetcher: Fetcher, gate: Gate, scan: Scan, report: Report) -> None:
        super().__init__(WebFetchArguments, report)
        self._fetcher = fetcher
        self._gate = gate
        self._scan = scan

    def describe(self, so_far: SoFar) -> Description | None:
        """Return the URL as the title."""
        url = so_far.whole("url")
        return Description(f"Fetch {url}") if url else None

    async def run(self, arguments: WebFetchArguments) -> Outcome:
        """Fetch the page."""
        try:
            return await self._fetch(arguments)
        except WebError as error:
            return Outcome(str(error), is_error=True)

    async def _fetch(self, arguments: WebFetchArguments) -> Outcome:
        address = read_address(arguments.url)
        # The callback is called for the first site, and for each other site of a redirect.
        page = await self._fetcher.fetch(address, self._ask_leave)
        text = await to_thread.run_sync(told, page, address, arguments.offset, self._scan)
        return Outcome(text, is_error=page.is_error, shown=_shown(page))

    async def _ask_leave(self, address: WebAddress) -> None:
        """Show the address, and ask permission to fetch from its site.

        Raises:
            LeaveRefusedError: Permission was refused.
        """
        title, content = f"Fetch {address}", (Text(block(str(address))),)
        await self.report.describe(title, ())
        await self.report.show(content)
        effect = FetchUrl(address.site, str(address))
        refusal = await self._gate.pass_through(
            Question(self.report.call_id, effect, title, KIND, content)
        )
        if refusal is not None:
            raise LeaveRefusedError(refusal.reason)
        await self.report.begin()


def _shown(page: Page) -> tuple[Text, ...]:
    """Return the page for the user: title, type, remarks and the beginning of the text."""
    lines = [f"{page.title or page.address}", f"{page.kind}, {len(page.text):,} characters"]
    lines += [f"Note: {remark}" for remark in page.remarks]
    beginning = page.text[:MOST_SHOWN_CHARACTERS]
    cut = " …" if len(page.text) > MOST_SHOWN_CHARACTERS else ""
    blocks = [Text("\n".join(lines))]
    blocks += [Text(block(beginning + cut))] if beginning else []
    return tuple(blocks)


def web_fetch_tool(fetcher: Fetcher, gate: Gate, scan: Scan) -> Tool:
    """Return the tool for a session."""
    spec = spec_of("web_fetch", DESCRIPTION, WebFetchArguments)
    return Tool(spec, KIND, "Fetch a page", partial(WebFetchUse, fetcher, gate, scan))

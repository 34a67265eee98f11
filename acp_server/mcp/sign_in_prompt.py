"""Shows a sign-in page to the user: the editor opens it, or else the user follows a link."""

from uuid import uuid4

from acp_server.mcp.ports import ServerError, SignInPage
from acp_server.session.ports.elicitation import ElicitationUrl, Elicitor
from acp_server.session.ports.mcp import ShowText

MESSAGE = "Sign in at {host}, so that its tools can be used."
LINK = (
    "Open this page to sign in to the MCP server “{server}” at {host}:\n\n{url}\n\nIt leads back "
    "to port {port} of the machine that the agent runs on. If your browser is on another machine, "
    "forward that port first. Waiting for you...\n\n"
)
DECLINED = "you declined the sign-in"


class UserSignInPrompt:
    """Shows the sign-in page of one server."""

    def __init__(self, server: str, elicitor: Elicitor, show_text: ShowText) -> None:
        """Prepare; `server` is the server's name on one line."""
        self._server = server
        self._elicitor = elicitor
        self._show_text = show_text
        self._page_id = ""

    async def show(self, page: SignInPage) -> None:
        """Show the page; see the port."""
        if not self._elicitor.shows_pages:
            await self._show_text(
                LINK.format(server=self._server, host=page.host, url=page.url, port=page.port)
            )
            return
        self._page_id = uuid4().hex
        message = MESSAGE.format(host=page.host)
        question = ElicitationUrl(self._server, message, page.url, self._page_id)
        if (await self._elicitor.ask(question)).action != "accept":
            raise ServerError(DECLINED)

    async def close(self) -> None:
        """Tell the editor that the page is not needed any more."""
        if self._page_id:
            await self._elicitor.complete(self._page_id)

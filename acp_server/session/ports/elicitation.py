"""The elicitation port: MCP servers ask the user for input."""

from collections.abc import Mapping
from typing import Literal, Protocol

from pydantic import JsonValue

from acp_server.startup.fast_dataclass import frozen_dataclass


@frozen_dataclass
class ElicitationForm:
    """A server's request to fill in a form."""

    server: str
    message: str
    schema: Mapping[str, JsonValue]


@frozen_dataclass
class ElicitationUrl:
    """A server's request to visit a web page."""

    server: str
    message: str
    url: str
    id: str
    """The server's id for the page; the ACP side assigns its own."""


@frozen_dataclass
class ElicitationResult:
    """The user's response to an elicitation."""

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, JsonValue] | None = None


DECLINED = ElicitationResult("decline")


class Elicitor(Protocol):
    """Forwards elicitation requests to the user."""

    @property
    def can_ask(self) -> bool:
        """Whether a user can be asked."""
        ...

    @property
    def shows_pages(self) -> bool:
        """Whether the user can be asked to visit a web page."""
        ...

    async def ask(self, question: ElicitationForm | ElicitationUrl) -> ElicitationResult:
        """Ask the user; cancelling withdraws the question.

        Requests that the editor cannot show are declined, and so are failures.
        """
        ...

    async def complete(self, page_id: str) -> None:
        """Report that the flow on a requested page has completed."""
        ...


class DecliningElicitor:
    """An elicitor that declines every request."""

    @property
    def can_ask(self) -> bool:
        """Return False."""
        return False

    @property
    def shows_pages(self) -> bool:
        """Return False."""
        return False

    async def ask(self, question: ElicitationForm | ElicitationUrl) -> ElicitationResult:
        """Decline."""
        del question
        return DECLINED

    async def complete(self, page_id: str) -> None:
        """Do nothing."""

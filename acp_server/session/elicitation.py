"""What an MCP server asks the user: the port, and nobody to be asked."""

from collections.abc import Mapping
from typing import Literal, Protocol

from pydantic import JsonValue

from acp_server.frozen import frozen


@frozen
class Form:
    """A server asks the user to fill in a form."""

    server: str
    message: str
    schema: Mapping[str, JsonValue]


@frozen
class Page:
    """A server asks the user to visit a page."""

    server: str
    message: str
    url: str
    id: str
    """As the server names it; what asks the user has a name of its own for it."""


@frozen
class Answer:
    """What the user made of a server's question."""

    action: Literal["accept", "decline", "cancel"]
    content: Mapping[str, JsonValue] | None = None


DECLINED = Answer("decline")


class Elicitor(Protocol):
    """Passes a server's questions on to the user."""

    @property
    def can_ask(self) -> bool:
        """Whether there is anybody to ask."""
        ...

    async def ask(self, question: Form | Page) -> Answer:
        """Ask; cancelling takes the question back.

        What the editor cannot show is declined; a failure is a decline too.
        """
        ...

    async def complete(self, page_id: str) -> None:
        """Tell that a page that was asked about has done its work."""
        ...


class NobodyToAsk:
    """Declines everything."""

    @property
    def can_ask(self) -> bool:
        """Return False."""
        return False

    async def ask(self, question: Form | Page) -> Answer:
        """Decline."""
        del question
        return DECLINED

    async def complete(self, page_id: str) -> None:
        """There is nobody to tell."""

"""What is said and done in a run, gathered from its updates."""

from acp_server.headless.updates import Update
from acp_server.protocol.content import TextContent
from acp_server.protocol.updates import AgentMessageChunk


class LastMessage:
    """The text of the message that the model wrote last."""

    def __init__(self) -> None:
        self._id: str | None = None
        self._parts: list[str] = []
        self._before = ""

    @property
    def text(self) -> str:
        """All of it so far."""
        return "".join(self._parts).strip()

    def besides(self, told: str) -> str:
        """Return it; if it is but what was told of a failure, the message before."""
        return self._before if self.text == told else self.text

    def take(self, update: Update) -> None:
        """Look at an update."""
        if not isinstance(update, AgentMessageChunk):
            return
        if update.message_id != self._id:
            self._before = self.text
            self._id = update.message_id
            self._parts.clear()
        if isinstance(update.content, TextContent):
            self._parts.append(update.content.text)

"""The model's last message, collected from session updates."""

from acp_server.headless.updates import Update
from acp_server.protocol.content import TextContent
from acp_server.protocol.updates import AgentMessageChunk


class LastMessage:
    """Text of the last agent message."""

    def __init__(self) -> None:
        self._id: str | None = None
        self._parts: list[str] = []
        self._previous_text = ""

    @property
    def text(self) -> str:
        """The text received so far, stripped."""
        return "".join(self._parts).strip()

    def text_unless(self, reported: str) -> str:
        """Return the text, or the previous message's if the last one is just `reported`."""
        return self._previous_text if self.text == reported else self.text

    def add(self, update: Update) -> None:
        """Add an update; only agent message chunks count."""
        if not isinstance(update, AgentMessageChunk):
            return
        if update.message_id != self._id:
            self._previous_text = self.text
            self._id = update.message_id
            self._parts.clear()
        if isinstance(update.content, TextContent):
            self._parts.append(update.content.text)

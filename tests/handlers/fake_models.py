"""Small fake models, most of them badly behaved."""

import anyio

from acp_server.turn.conversation import UserMessage, text_of
from acp_server.turn.ports import ModelRequest, ModelStop, Receive, TextDelta
from tests.support.timeouts import PATIENCE_SECONDS


def newest_prompt(request: ModelRequest) -> str:
    """Return the text of the latest user message."""
    prompts = [message for message in request.messages if isinstance(message, UserMessage)]
    return text_of(prompts[-1].parts)


class Echo:
    """Model that answers with the prompt, in one chunk."""

    async def respond(self, request: ModelRequest, receive: Receive) -> ModelStop:
        """Answer with the prompt."""
        await receive(TextDelta(newest_prompt(request)))
        return "end_turn"


class Turns:
    """Model that answers "PROMPT begins" and, when the test allows it, "PROMPT ends"."""

    def __init__(self) -> None:
        self.begun: dict[str, anyio.Event] = {}
        self.may_end: dict[str, anyio.Event] = {}

    async def respond(self, request: ModelRequest, receive: Receive) -> ModelStop:
        """Answer in two chunks."""
        prompt = newest_prompt(request)
        await receive(TextDelta(f"{prompt} begins"))
        await self.may_end.setdefault(prompt, anyio.Event()).wait()
        await receive(TextDelta(f"{prompt} ends"))
        return "end_turn"

    def let_end(self, prompt: str) -> None:
        """Let the answer to this prompt end."""
        self.may_end.setdefault(prompt, anyio.Event()).set()


class Stubborn:
    """Model that ignores cancellation during the prompt `hang`, and answers others with Hello."""

    def __init__(self) -> None:
        self.hangs = anyio.Event()
        self.may_end = anyio.Event()
        self.has_ended = anyio.Event()
        self.requests: list[ModelRequest] = []

    async def respond(self, request: ModelRequest, receive: Receive) -> ModelStop:
        """Answer, or block until the test allows the end, and then send more text."""
        self.requests.append(request)
        if newest_prompt(request) != "hang":
            await receive(TextDelta("Hello."))
            return "end_turn"
        with anyio.move_on_after(PATIENCE_SECONDS, shield=True):
            await receive(TextDelta("Working"))
            self.hangs.set()
            await self.may_end.wait()
            await receive(TextDelta(", too late"))
        self.has_ended.set()
        return "end_turn"


class Chatterbox:
    """Model that ignores cancellation while it streams text that the client does not read."""

    def __init__(self) -> None:
        self.has_ended = anyio.Event()

    async def respond(self, request: ModelRequest, receive: Receive) -> ModelStop:
        """Stream more than the output buffer holds, shielded from cancellation."""
        if newest_prompt(request) != "chatter":
            await receive(TextDelta("Hello."))
            return "end_turn"
        with anyio.move_on_after(PATIENCE_SECONDS, shield=True):
            for number in range(100):
                await receive(TextDelta(f"{number} " * 100))
        self.has_ended.set()
        return "end_turn"


class RaisingWhenCancelled:
    """Model that raises an exception when it is cancelled."""

    def __init__(self, error: Exception) -> None:
        self._error = error
        self.works = anyio.Event()

    async def respond(self, request: ModelRequest, receive: Receive) -> ModelStop:
        """Work until cancelled, then raise."""
        if newest_prompt(request) != "work":
            await receive(TextDelta("Hello."))
            return "end_turn"
        await receive(TextDelta("Working"))
        self.works.set()
        try:
            await anyio.sleep_forever()
        finally:
            raise self._error


class Failing:
    """Model that streams a text and raises an exception."""

    def __init__(self, error: Exception, said: str = "So far") -> None:
        self._error = error
        self._said = said

    async def respond(self, request: ModelRequest, receive: Receive) -> ModelStop:
        """Stream the text, then raise."""
        del request
        await receive(TextDelta(self._said))
        raise self._error

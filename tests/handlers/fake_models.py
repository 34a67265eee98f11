"""Small fake models, most of them badly behaved."""

import anyio

from acp_server.turn.conversation import UserMessage, prompt_to_text
from acp_server.turn.ports import ModelRequest, ModelStop, ReceiveEvent, TextDelta
from tests.support.timeouts import HANG_TIMEOUT_SECONDS


def newest_prompt(request: ModelRequest) -> str:
    """Return the text of the latest user message."""
    prompts = [message for message in request.messages if isinstance(message, UserMessage)]
    return prompt_to_text(prompts[-1].parts)


class EchoModel:
    """Model that answers with the prompt, in one chunk."""

    async def respond(self, request: ModelRequest, receive: ReceiveEvent) -> ModelStop:
        """Answer with the prompt."""
        await receive(TextDelta(newest_prompt(request)))
        return "end_turn"


class TwoPartModel:
    """Model that answers "PROMPT begins" and, when the test allows it, "PROMPT ends"."""

    def __init__(self) -> None:
        self.begun: dict[str, anyio.Event] = {}
        self.end_events: dict[str, anyio.Event] = {}

    async def respond(self, request: ModelRequest, receive: ReceiveEvent) -> ModelStop:
        """Answer in two chunks."""
        prompt = newest_prompt(request)
        await receive(TextDelta(f"{prompt} begins"))
        await self.end_events.setdefault(prompt, anyio.Event()).wait()
        await receive(TextDelta(f"{prompt} ends"))
        return "end_turn"

    def allow_end(self, prompt: str) -> None:
        """Let the answer to this prompt end."""
        self.end_events.setdefault(prompt, anyio.Event()).set()


class LateModel:
    """Model that answers "Done." when the test allows it, and says nothing before."""

    def __init__(self) -> None:
        self.is_asked = anyio.Event()
        self.may_answer = anyio.Event()

    async def respond(self, request: ModelRequest, receive: ReceiveEvent) -> ModelStop:
        """Wait, then answer."""
        del request
        self.is_asked.set()
        await self.may_answer.wait()
        await receive(TextDelta("Done."))
        return "end_turn"


class UncancellableModel:
    """Model that ignores cancellation during the prompt `hang`, and answers others with Hello."""

    def __init__(self) -> None:
        self.is_blocked = anyio.Event()
        self.allowed_to_end = anyio.Event()
        self.has_ended = anyio.Event()
        self.requests: list[ModelRequest] = []

    async def respond(self, request: ModelRequest, receive: ReceiveEvent) -> ModelStop:
        """Answer, or block until the test allows the end, and then send more text."""
        self.requests.append(request)
        if newest_prompt(request) != "hang":
            await receive(TextDelta("Hello."))
            return "end_turn"
        with anyio.move_on_after(HANG_TIMEOUT_SECONDS, shield=True):
            await receive(TextDelta("Working"))
            self.is_blocked.set()
            await self.allowed_to_end.wait()
            await receive(TextDelta(", too late"))
        self.has_ended.set()
        return "end_turn"


class UncancellableTalker:
    """Model that ignores cancellation while it streams text that the client does not read."""

    def __init__(self) -> None:
        self.has_ended = anyio.Event()

    async def respond(self, request: ModelRequest, receive: ReceiveEvent) -> ModelStop:
        """Stream more than the output buffer holds, shielded from cancellation."""
        if newest_prompt(request) != "chatter":
            await receive(TextDelta("Hello."))
            return "end_turn"
        with anyio.move_on_after(HANG_TIMEOUT_SECONDS, shield=True):
            for number in range(100):
                await receive(TextDelta(f"{number} " * 100))
        self.has_ended.set()
        return "end_turn"


class RaiseOnCancelModel:
    """Model that raises an exception when it is cancelled."""

    def __init__(self, error: Exception) -> None:
        self._error = error
        self.started = anyio.Event()

    async def respond(self, request: ModelRequest, receive: ReceiveEvent) -> ModelStop:
        """Work until cancelled, then raise."""
        if newest_prompt(request) != "work":
            await receive(TextDelta("Hello."))
            return "end_turn"
        await receive(TextDelta("Working"))
        self.started.set()
        try:
            await anyio.sleep_forever()
        finally:
            raise self._error


class FailingModel:
    """Model that streams a text and raises an exception."""

    def __init__(self, error: Exception, text: str = "So far") -> None:
        self._error = error
        self._text = text

    async def respond(self, request: ModelRequest, receive: ReceiveEvent) -> ModelStop:
        """Stream the text, then raise."""
        del request
        await receive(TextDelta(self._text))
        raise self._error

"""A model that plays a script: for demos, and for tests that are not about a provider."""

import re
from collections.abc import Sequence
from itertools import repeat
from pathlib import Path

import anyio
from anyio import lowlevel

from acp_server.models.script import (
    Block,
    Deaf,
    Fail,
    Pace,
    Pause,
    Say,
    ScriptError,
    Stop,
    parse_script,
)
from acp_server.turn.conversation import UserMessage, text_of
from acp_server.turn.errors import ModelFailedError, ModelUnavailableError
from acp_server.turn.ports import (
    ModelRequest,
    ModelStop,
    Receive,
    TextDelta,
    ThinkingDelta,
)

SCRIPTS = Path(__file__).parent / "scripts"
_WORD = re.compile(r"\s*\S+\s*|\s+")


class ScriptedModel:
    """Plays the first block that answers the newest prompt."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._blocks: Sequence[Block] | None = None

    async def respond(self, request: ModelRequest, receive: Receive) -> ModelStop:
        """Play; see the port.

        Raises:
            ModelUnavailableError: there is no such script, or it cannot be read.
            ModelFailedError: the script says so.
        """
        if self._blocks is None:
            self._blocks = await _load(self._source)
        prompt = _newest_prompt(request)
        block = next((block for block in self._blocks if block.answers(prompt)), None)
        if block is None:
            reason = f"the script {self._source!r} has no block for this prompt"
            raise ModelFailedError(reason)
        return await _play(block, receive)


async def _play(block: Block, receive: Receive) -> ModelStop:
    pace_seconds = 0.0
    for line in block.lines:
        match line:
            case Say():
                await _say(line, pace_seconds, receive)
            case Pace():
                pace_seconds = line.seconds
            case Pause():
                await anyio.sleep(line.seconds)
            case Deaf():
                with anyio.CancelScope(shield=True):
                    await anyio.sleep(line.seconds)
            case Fail():
                raise ModelFailedError(line.reason)
            case Stop():
                return line.reason
    return "end_turn"


async def _say(line: Say, pace_seconds: float, receive: Receive) -> None:
    delta = ThinkingDelta if line.is_thought else TextDelta
    chunks = repeat(line.text, line.copies) if line.copies else _WORD.findall(line.text)
    for chunk in chunks:
        await (anyio.sleep(pace_seconds) if pace_seconds else lowlevel.checkpoint())
        await receive(delta(chunk))


async def _load(source: str) -> Sequence[Block]:
    """Read a shipped script by its name, or any file by its path."""
    shipped = SCRIPTS / f"{source}.script"
    path = anyio.Path(shipped if "/" not in source and shipped.is_file() else source)
    try:
        return parse_script(await path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, ScriptError) as error:
        shipped_names = ", ".join(sorted(each.stem for each in SCRIPTS.glob("*.script")))
        reason = f"cannot play the script {source!r}: {error}; shipped ones are {shipped_names}"
        raise ModelUnavailableError(reason) from error


def _newest_prompt(request: ModelRequest) -> str:
    prompts = [message for message in request.messages if isinstance(message, UserMessage)]
    return text_of(prompts[-1].parts) if prompts else ""

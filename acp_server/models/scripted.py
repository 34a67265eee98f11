"""Scripted model: plays a script file, for demos and for tests that need no provider."""

import re
from collections.abc import Sequence
from itertools import repeat
from pathlib import Path
from uuid import uuid4

import anyio
from anyio import lowlevel

from acp_server.models.script import (
    Block,
    Call,
    Deaf,
    Fail,
    Line,
    Pace,
    Pause,
    Say,
    ScriptError,
    Step,
    Stop,
    parse_script,
)
from acp_server.turn.conversation import Message, ToolResult, UserMessage, text_of
from acp_server.turn.errors import ModelFailedError, ModelUnavailableError
from acp_server.turn.ports import (
    CallArguments,
    CallEnded,
    CallStarted,
    ModelRequest,
    ModelStop,
    Receive,
    TextDelta,
    ThinkingDelta,
)

SCRIPTS = Path(__file__).parent / "scripts"
_WORD = re.compile(r"\s*\S+\s*|\s+")


class ScriptedModel:
    """Model that plays the first script block that matches the newest prompt."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._blocks: Sequence[Block] | None = None

    async def respond(self, request: ModelRequest, receive: Receive) -> ModelStop:
        """Play the matching block; see `turn.ports.Model`.

        Raises:
            ModelUnavailableError: The script does not exist or is invalid.
            ModelFailedError: The script has a `fail:` line or no block for the prompt.
        """
        if self._blocks is None:
            self._blocks = await _load(self._source)
        position, prompt = _newest_prompt(request.messages)
        block = next((block for block in self._blocks if block.answers(prompt)), None)
        if block is None:
            reason = f"the script {self._source!r} has no block for this prompt"
            raise ModelFailedError(reason)
        steps_played = sum(_has_results(message) for message in request.messages[position:])
        return await _play(block.step(steps_played), receive)


async def _play(lines: Sequence[Line], receive: Receive) -> ModelStop:
    pace_seconds = 0.0
    stop: ModelStop = "end_turn"
    for line in lines:
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
            case Call():
                await _call(line, pace_seconds, receive)
                stop = "tool_use"
            case Step():
                pass
            case Fail():
                raise ModelFailedError(line.reason)
            case Stop():
                return line.reason
    return stop


async def _call(line: Call, pace_seconds: float, receive: Receive) -> None:
    call_id = f"call_{uuid4().hex[:12]}"
    await receive(CallStarted(call_id, line.name))
    for fragment in _WORD.findall(line.arguments):
        await (anyio.sleep(pace_seconds) if pace_seconds else lowlevel.checkpoint())
        await receive(CallArguments(call_id, fragment))
    await receive(CallEnded(call_id))


async def _say(line: Say, pace_seconds: float, receive: Receive) -> None:
    delta = ThinkingDelta if line.is_thought else TextDelta
    chunks = repeat(line.text, line.copies) if line.copies else _WORD.findall(line.text)
    for chunk in chunks:
        await (anyio.sleep(pace_seconds) if pace_seconds else lowlevel.checkpoint())
        await receive(delta(chunk))


async def _load(source: str) -> Sequence[Block]:
    """Read an included script by its name, or any script file by its path."""
    shipped = SCRIPTS / f"{source}.script"
    path = anyio.Path(shipped if "/" not in source and shipped.is_file() else source)
    try:
        return parse_script(await path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, ScriptError) as error:
        shipped_names = ", ".join(sorted(each.stem for each in SCRIPTS.glob("*.script")))
        reason = (
            f"cannot play the script {source!r}: {error}; the included scripts are {shipped_names}"
        )
        raise ModelUnavailableError(reason) from error


def _newest_prompt(messages: Sequence[Message]) -> tuple[int, str]:
    """Return the index and text of the newest prompt; tool results are not prompts."""
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if isinstance(message, UserMessage) and not _has_results(message):
            return position, text_of(message.parts)
    return 0, ""


def _has_results(message: Message) -> bool:
    return any(isinstance(part, ToolResult) for part in message.parts)

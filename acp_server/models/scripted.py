"""Scripted model: plays a script file, for demos and for tests that need no provider."""

import re
from collections.abc import Sequence
from itertools import repeat
from pathlib import Path
from uuid import uuid4

import anyio
from anyio import lowlevel

from acp_server.models.script import (
    CallLine,
    FailLine,
    IgnoreCancelLine,
    PaceLine,
    PauseLine,
    SayLine,
    ScriptBlock,
    ScriptError,
    ScriptLine,
    StepLine,
    StopLine,
    parse_script,
)
from acp_server.turn.conversation import Message, ToolResult, UserMessage, prompt_to_text
from acp_server.turn.errors import ModelFailedError, ModelUnavailableError
from acp_server.turn.ports import (
    ModelRequest,
    ModelStop,
    ReceiveEvent,
    TextDelta,
    ThinkingDelta,
    ToolCallCompleted,
    ToolCallDelta,
    ToolCallStarted,
)

SCRIPTS = Path(__file__).parent / "scripts"
_WORD = re.compile(r"\s*\S+\s*|\s+")


class ScriptedModel:
    """Model that plays the first script block that matches the newest prompt."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._blocks: Sequence[ScriptBlock] | None = None

    async def respond(self, request: ModelRequest, receive: ReceiveEvent) -> ModelStop:
        """Play the matching block; see `turn.ports.Model`.

        Raises:
            ModelUnavailableError: The script does not exist or is invalid.
            ModelFailedError: The script has a `fail:` line or no block for the prompt.
        """
        if self._blocks is None:
            self._blocks = await _load(self._source)
        position, prompt = _find_newest_prompt(request.messages)
        block = next((block for block in self._blocks if block.matches(prompt)), None)
        if block is None:
            reason = f"the script {self._source!r} has no block for this prompt"
            raise ModelFailedError(reason)
        steps_played = sum(_has_results(message) for message in request.messages[position:])
        return await _play(block.lines_of_step(steps_played), receive)


async def _play(lines: Sequence[ScriptLine], receive: ReceiveEvent) -> ModelStop:
    pace_seconds = 0.0
    stop: ModelStop = "end_turn"
    for line in lines:
        match line:
            case SayLine():
                await _say(line, pace_seconds, receive)
            case PaceLine():
                pace_seconds = line.seconds
            case PauseLine():
                await anyio.sleep(line.seconds)
            case IgnoreCancelLine():
                with anyio.CancelScope(shield=True):
                    await anyio.sleep(line.seconds)
            case CallLine():
                await _call(line, pace_seconds, receive)
                stop = "tool_use"
            case StepLine():
                pass
            case FailLine():
                raise ModelFailedError(line.reason)
            case StopLine():
                return line.reason
    return stop


async def _call(line: CallLine, pace_seconds: float, receive: ReceiveEvent) -> None:
    call_id = f"call_{uuid4().hex[:12]}"
    await receive(ToolCallStarted(call_id, line.name))
    for fragment in _WORD.findall(line.arguments):
        await (anyio.sleep(pace_seconds) if pace_seconds else lowlevel.checkpoint())
        await receive(ToolCallDelta(call_id, fragment))
    await receive(ToolCallCompleted(call_id))


async def _say(line: SayLine, pace_seconds: float, receive: ReceiveEvent) -> None:
    delta = ThinkingDelta if line.is_thinking else TextDelta
    chunks = repeat(line.text, line.copies) if line.copies else _WORD.findall(line.text)
    for chunk in chunks:
        await (anyio.sleep(pace_seconds) if pace_seconds else lowlevel.checkpoint())
        await receive(delta(chunk))


async def _load(source: str) -> Sequence[ScriptBlock]:
    """Read an included script by its name, or any script file by its path."""
    included = SCRIPTS / f"{source}.script"
    path = anyio.Path(included if "/" not in source and included.is_file() else source)
    try:
        return parse_script(await path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, ScriptError) as error:
        included_names = ", ".join(sorted(each.stem for each in SCRIPTS.glob("*.script")))
        reason = (
            f"cannot play the script {source!r}: {error}; the included scripts are {included_names}"
        )
        raise ModelUnavailableError(reason) from error


def _find_newest_prompt(messages: Sequence[Message]) -> tuple[int, str]:
    """Return the index and text of the newest prompt; tool results are not prompts."""
    for position in range(len(messages) - 1, -1, -1):
        message = messages[position]
        if isinstance(message, UserMessage) and not _has_results(message):
            return position, prompt_to_text(message.parts)
    return 0, ""


def _has_results(message: Message) -> bool:
    return any(isinstance(part, ToolResult) for part in message.parts)

"""Plays a script of the scripted model through the Messages API.

Translates scripts to API replies, so that a test can give both models the same behaviour.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from pydantic import JsonValue

from acp_server.models.script import (
    CallLine,
    PaceLine,
    SayLine,
    ScriptBlock,
    ScriptLine,
    parse_script,
)
from tests.support import messages_api
from tests.support.messages_api import ParsedRequest, ScriptedReply
from tests.support.messages_api.script import ReplyBlock, Responder


def make_script_responder(script: str) -> Responder:
    """Return a responder that answers each request as the scripted model would."""
    blocks = parse_script(script)

    def respond(ask: ParsedRequest) -> ScriptedReply:
        prompt, steps_played = _newest_prompt(ask)
        block = next(block for block in blocks if block.matches(prompt))
        return _reply(block, steps_played)

    return respond


def _newest_prompt(ask: ParsedRequest) -> tuple[str, int]:
    """Return the newest prompt, and the number of tool result messages after it."""
    steps = 0
    for message in reversed(ask.request.messages):
        if message.role != "user":
            continue
        if not any(block.type == "tool_result" for block in message.content):
            texts = [block.text for block in message.content if block.type == "text"]
            return "\n".join(texts), steps
        steps += 1
    return "", steps


def _reply(block: ScriptBlock, steps_played: int) -> ScriptedReply:
    lines = block.lines_of_step(steps_played)
    spoken = [each for line in lines for each in _to_blocks(line)]
    made = messages_api.reply(*spoken or ["."])
    paces = [line.seconds for line in lines if isinstance(line, PaceLine)]
    copied = [line for line in lines if isinstance(line, SayLine) and line.copies]
    size = len(copied[0].text) if copied else made.chunk_characters
    return replace(made, pause_seconds=max(paces, default=0), chunk_characters=size)


def _to_blocks(line: ScriptLine) -> Sequence[ReplyBlock]:
    match line:
        case SayLine():
            text = line.text * max(line.copies, 1)
            return [messages_api.think(text) if line.is_thinking else messages_api.say(text)]
        case CallLine():
            arguments = cast("dict[str, JsonValue]", json.loads(line.arguments))
            return [messages_api.CallTool(line.name, arguments)]
        case _:
            return []

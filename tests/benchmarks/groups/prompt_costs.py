"""Size and cost of the model's input: a greeting, and a day of 20 turns with 60 calls."""

import json
from collections.abc import Mapping, Sequence

from pydantic import JsonValue

from tests.benchmarks.agent import AgentError
from tests.benchmarks.agent_setup import Body, Lab, Taken
from tests.benchmarks.billing import bill_for
from tests.benchmarks.endpoint.model_requests import ORDER, objects, text_of, tools_of
from tests.benchmarks.figures import Figures
from tests.benchmarks.scripted_session import script

TURN_SECONDS = 90.0


def measure_words(lab: Lab) -> Figures:
    """Yield sizes and bills. They are the same in every run."""
    yield from _greeting(lab.elsewhere("greeting"))
    yield from _day(lab.elsewhere("day"))


def _greeting(lab: Lab) -> Figures:
    taken = _recorded(lab, ["hi"])
    main = max(taken, key=lambda each: each.bytes)
    yield "prompt-characters", float(_prefix_characters(main))
    yield "prompt-tools", float(len(tools_of(main.body)))
    yield "prompt-body", main.bytes / 1000


def _prefix_characters(taken: Taken) -> int:
    """Return the length of the system prompt plus the tools as JSON."""
    body = taken.body
    system = text_of(body.get("system") or body.get("instructions") or _instruction(body))
    for message in [*objects(body.get("messages")), *objects(body.get("input"))]:
        if message.get("role") in {"system", "developer"}:
            system += text_of(message.get("content"))
    return len(system) + len(json.dumps(body.get("tools") or []))


def _instruction(body: Body) -> JsonValue:
    said = body.get("systemInstruction")
    return said.get("parts") if isinstance(said, dict) else ""


def _day(lab: Lab) -> Figures:
    prompts = [
        f"{prompt}\n{lab.order(f'day {turn}')}" for turn, prompt in enumerate(script().prompts)
    ]
    taken = _recorded(lab, prompts)
    yield "day-requests", float(len(taken))
    yield "day-failed", float(_failed(taken))
    if not lab.peer.has_marks:
        raise AgentError("its requests do not say what is to be cached")
    bill = bill_for([each.body for each in taken])
    main = bill_for([each.body for each in taken if not _is_aside(each)])
    yield "day-share", bill.share_read * 100
    yield "day-billed", bill.billed / 1000
    yield "day-aside", (bill.billed - main.billed) / 1000


def _is_aside(taken: Taken) -> bool:
    """Return whether a request belongs to no turn: a title, a summary, a review."""
    messages = objects(taken.body.get("messages"))
    orders = [place for place, message in enumerate(messages) if _is_ordered(message)]
    behind = messages[orders[-1] + 1 :] if orders else []
    has_answers = any(message.get("role") == "assistant" for message in behind)
    ends_with_words = has_answers and "tool_result" not in json.dumps(behind[-1])
    return not tools_of(taken.body) or ends_with_words


def _is_ordered(message: Mapping[str, JsonValue]) -> bool:
    return (
        message.get("role") == "user" and ORDER.search(text_of(message.get("content"))) is not None
    )


def _failed(taken: Sequence[Taken]) -> int:
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


def _recorded(lab: Lab, prompts: Sequence[str]) -> list[Taken]:
    lab.endpoint.keep(is_keeping=True)
    try:
        with lab.start() as agent:
            agent.initialize()
            session = agent.new_session(lab.project)
            for prompt in prompts:
                agent.turn(session, prompt, TURN_SECONDS)
        return lab.endpoint.taken()
    finally:
        lab.endpoint.keep(is_keeping=False)

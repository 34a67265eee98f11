"""Fewer tools: what the model is told, and what becomes of a call of a tool that was left out."""

from acp_server.session.filtered_toolbox import FilteredToolbox
from acp_server.turn.conversation import ToolCall
from acp_server.turn.events import CallAppeared
from acp_server.turn.ports import ToolOutcome
from tests.turn.fake_sinks import MemorySink
from tests.turn.turn_harness import FunctionTools, echo_arguments

CALL = ToolCall("c1", "other", "{}")


def narrow() -> FilteredToolbox:
    return FilteredToolbox(
        FunctionTools(one=echo_arguments, other=echo_arguments, two=echo_arguments), ("two", "one")
    )


def test_remaining_tools_keep_their_order() -> None:
    assert [spec.name for spec in narrow().specs] == ["one", "two"]


async def test_a_call_of_an_excluded_tool_does_nothing_and_explains_why() -> None:
    sink = MemorySink()
    live = await narrow().open("c1", "other", sink)
    await live.write("{}")
    reason = "only these tools are available here: one, two"
    assert await live.run(CALL) == ToolOutcome(reason, is_error=True)
    assert live.interrupted_outcome("cancelled") == ToolOutcome("cancelled", is_error=True)
    assert sink.events == [CallAppeared("c1", "other")]


async def test_a_call_of_a_remaining_tool_is_passed_to_the_toolbox() -> None:
    tools = narrow()
    sink = MemorySink()
    live = await tools.open("c1", "one", sink)
    outcome = await live.run(ToolCall("c1", "one", "{}"))
    assert not outcome.is_error

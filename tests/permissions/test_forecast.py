"""What is said of the tools before they are used is what the policy says of their calls."""

import pytest

from acp_server.permissions.forecast import forecast
from acp_server.permissions.modes import Mode
from acp_server.tools.tool_names import TOOL_NAMES
from tests.support.user_texts import ALLOWED_IN_WORKSPACE, ONLY_FOR_PLAN_MODE

FATES: dict[Mode, dict[str, str]] = {
    "ask": {
        "read_file": ALLOWED_IN_WORKSPACE,
        "write_file": "asks first",
        "terminal": "asks first, unless it only reads",
        "memory": "allowed",
        "web_fetch": "asks first",
        "exit_plan": ONLY_FOR_PLAN_MODE,
        "server__tool": "asks first",
        "todo": "allowed",
    },
    "accept_edits": {
        "patch": ALLOWED_IN_WORKSPACE,
        "terminal": "asks first, unless it only reads",
    },
    "plan": {
        "search_files": ALLOWED_IN_WORKSPACE,
        "symbols": ALLOWED_IN_WORKSPACE,
        "patch": "refused",
        "terminal": "refused",
        "memory": "refused",
        "exit_plan": "asks first",
        "web_fetch": "asks first",
        "server__tool": "refused",
    },
    "bypass": {"patch": "allowed", "terminal": "allowed", "server__tool": "allowed"},
}


@pytest.mark.parametrize("mode", FATES)
def test_the_forecast_of_a_tool_follows_the_policy(mode: Mode) -> None:
    assert {name: forecast(name, mode) for name in FATES[mode]} == FATES[mode]


def test_every_changing_tool_is_forecast_as_refused_in_plan_mode() -> None:
    quiet = {name for name in TOOL_NAMES if forecast(name, "plan").startswith("allowed")}
    harmless = {
        "read_file",
        "search_files",
        "symbols",
        "todo",
        "clarify",
        "session_search",
        "delegate_task",
    }
    assert quiet == {*harmless, "skills_list", "skill_view"}

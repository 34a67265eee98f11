"""What is said of the tools before they are used is what the policy says of their calls."""

import pytest

from acp_server.permissions.forecast import forecast
from acp_server.permissions.modes import Mode
from acp_server.tools.kit import TOOL_NAMES

FATES: dict[Mode, dict[str, str]] = {
    "ask": {
        "read_file": "unasked in the workspace",
        "write_file": "asked about",
        "terminal": "asked about, unless it only reads",
        "memory": "unasked",
        "web_fetch": "asked about",
        "exit_plan": "of use in plan mode only",
        "server__tool": "asked about",
        "todo": "unasked",
    },
    "accept_edits": {
        "patch": "unasked in the workspace",
        "terminal": "asked about, unless it only reads",
    },
    "plan": {
        "search_files": "unasked in the workspace",
        "patch": "refused",
        "terminal": "refused",
        "memory": "refused",
        "exit_plan": "asked about",
        "web_fetch": "asked about",
        "server__tool": "refused",
    },
    "bypass": {"patch": "unasked", "terminal": "unasked", "server__tool": "unasked"},
}


@pytest.mark.parametrize("mode", FATES)
def test_a_tool_is_forecast_by_the_policy(mode: Mode) -> None:
    assert {name: forecast(name, mode) for name in FATES[mode]} == FATES[mode]


def test_whatever_changes_something_is_refused_in_plan_mode() -> None:
    quiet = {name for name in TOOL_NAMES if forecast(name, "plan").startswith("unasked")}
    harmless = {"read_file", "search_files", "todo", "clarify", "session_search", "delegate_task"}
    assert quiet == {*harmless, "skills_list", "skill_view"}

"""What a hook's end means: only a clean one lets a call by."""

import json

from acp_server.config.values import ToolHook
from acp_server.hooks.hook_protocol import HookResult, as_json, parse_refusal
from acp_server.hooks.rules import HookRules, matching_hooks
from tests.support.case_table import each_case
from tests.support.user_texts import HOOK_OUTPUT_TOO_LONG, HOOK_TIMED_OUT

ANSWERS = {
    "it ends well": (HookResult(0, ""), None),
    "it ends well and says something": (HookResult(0, "looked at it\n"), None),
    "it allows in JSON": (HookResult(0, '{"decision": "allow"}'), None),
    "it says JSON of its own": (HookResult(0, '{"level": "info"}'), None),
    "it refuses by its code": (HookResult(2, "not on Fridays\n"), "not on Fridays"),
    "it refuses by its code, without a word": (HookResult(2, " \n"), "it gave no reason"),
    "it refuses in JSON": (HookResult(0, '{"decision": "refuse", "reason": "no"}'), "no"),
    "it refuses in JSON without a reason": (
        HookResult(0, '{"decision": "refuse"}'),
        "it gave no reason",
    ),
    "it refuses in JSON of several lines": (
        HookResult(0, '{\n "decision": "refuse",\n "reason": "no"\n}\n'),
        "no",
    ),
    "it warns, then refuses": (
        HookResult(0, 'warning: old\n{"decision": "refuse", "reason": "no"}'),
        "no",
    ),
    "it refuses twice over": (HookResult(2, '{"decision": "refuse", "reason": "no"}'), "no"),
    "it allows by words what it refuses by its code": (HookResult(2, '{"decision": "allow"}'), "{"),
    "half a decision": (HookResult(0, '{"decision": "ref'), "its decision cannot be read"),
    "an unknown decision": (
        HookResult(0, '{"decision": "deny"}'),
        "its decision cannot be read: deny",
    ),
    "it fails": (HookResult(1, "Traceback"), "it failed with exit code 1: Traceback"),
    "it cannot be found": (HookResult(127, ""), "it failed with exit code 127"),
    "it does not end": (
        HookResult(None, "", failure=HOOK_TIMED_OUT),
        "it did not answer: its time",
    ),
    "it ends well when its time is up": (
        HookResult(0, "", failure=HOOK_TIMED_OUT),
        "it did not",
    ),
    "it says too much": (HookResult(0, "x", is_truncated=True), HOOK_OUTPUT_TOO_LONG),
    "braces without end": (HookResult(0, "[" * 100_000), None),
}


@each_case(("ran", "reason"), ANSWERS.values(), ids=ANSWERS.keys())
def test_a_refusal_is_parsed_from_the_hook_result(ran: HookResult, reason: str | None) -> None:
    found = parse_refusal(ran)
    assert found is reason is None or (found or "").startswith(reason or "\0")


def test_hook_input_is_one_line_of_json() -> None:
    line = as_json("before_tool", {"tool": "patch", "arguments": {"text": "a\nb\ud800"}})
    assert line.count(b"\n") == 1
    assert json.loads(line) == {
        "event": "before_tool",
        "tool": "patch",
        "arguments": {"text": "a\nb\ufffd"},
    }


@each_case(
    ("patterns", "tool", "is_match"),
    [
        ("*", "patch", True),
        ("patch", "patch", True),
        ("write_file | patch", "patch", True),
        ("write_*", "write_file", True),
        ("github__*", "github__search", True),
        ("patch", "Patch", False),
        ("pat", "patch", False),
        (" ", "patch", False),
    ],
)
def test_a_hook_applies_to_tools_with_a_matching_name(
    patterns: str, tool: str, *, is_match: bool
) -> None:
    assert bool(matching_hooks([ToolHook(command="true", match=patterns)], tool)) is is_match


def test_invalid_rules_do_not_count_as_empty() -> None:
    assert HookRules().is_empty
    assert not HookRules(is_invalid=True).is_empty

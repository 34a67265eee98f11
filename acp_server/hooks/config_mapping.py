"""Converts hook settings to hook rules."""

from collections.abc import Sequence

from acp_server.config.values import ToolHook, TurnHook
from acp_server.hooks.rules import Hook, HookRules


def build_hook_rules(
    before_tool: Sequence[ToolHook],
    after_tool: Sequence[ToolHook],
    after_turn: Sequence[TurnHook],
    *,
    is_broken: bool,
) -> HookRules:
    """Return the hooks; `is_broken`: some hooks before tool calls could not be parsed."""
    return HookRules(
        [_tool_hook(each) for each in before_tool],
        [_tool_hook(each) for each in after_tool],
        [Hook(each.command, timeout_seconds=each.timeout_seconds) for each in after_turn],
        is_broken,
    )


def _tool_hook(hook: ToolHook) -> Hook:
    return Hook(hook.command, hook.match, hook.timeout_seconds)

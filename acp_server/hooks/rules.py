"""Hook rules: which commands run when. Only the user's settings define them.

Pure. A hook before a call can refuse it but not allow it: the permission gate decides afterwards.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from acp_server.config.setting import setting
from acp_server.config.values import HermesHook, ToolHook, TurnHook
from acp_server.startup.fast_dataclass import frozen_dataclass


@frozen_dataclass
class HookRules:
    """All hooks, each list in the order of execution."""

    before_tool: tuple[ToolHook, ...] = setting(
        (), "Commands run before tool calls; exit code 2 blocks the call", "hooks.before_tool"
    )
    after_tool: tuple[ToolHook, ...] = setting(
        (), "Commands run after tool calls; the model sees their output", "hooks.after_tool"
    )
    after_turn: tuple[TurnHook, ...] = setting((), "Commands run after turns", "hooks.after_turn")
    pre_tool_call: tuple[HermesHook, ...] = setting(
        (), "Commands run before tool calls, by the protocol of Hermes", "hooks.pre_tool_call"
    )
    post_tool_call: tuple[HermesHook, ...] = setting(
        (), "Commands run after tool calls, by the protocol of Hermes", "hooks.post_tool_call"
    )
    is_invalid: bool = False
    """Whether some configured hooks before calls cannot be parsed: every call is refused then."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to run."""
        hooks = (self.before_tool, self.after_tool, self.after_turn)
        return not (any(hooks) or self.pre_tool_call or self.post_tool_call or self.is_invalid)


def matching_hooks(hooks: Sequence[ToolHook], tool: str) -> Sequence[ToolHook]:
    """Return the hooks for a tool.

    >>> hooks = [ToolHook(command="a", match="write_*|patch"), ToolHook(command="b")]
    >>> [hook.command for hook in matching_hooks(hooks, "patch")]
    ['a', 'b']
    """
    return [
        hook
        for hook in hooks
        if any(fnmatchcase(tool, pattern.strip()) for pattern in hook.match.split("|"))
    ]

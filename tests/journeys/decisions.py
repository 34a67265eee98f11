"""How a session in `ask` mode would decide about commands; none of them runs."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from acp_server.permissions.effects import FileTarget, RunCommandEffect, SandboxStatus
from acp_server.permissions.facts import FactCollector
from acp_server.permissions.policy import Allow, Ask, Decision, decide
from acp_server.permissions.questions import choices_for
from acp_server.permissions.rules import PermissionRule, RuleBook


def decide_all(
    root: Path,
    commands: Sequence[str],
    sandbox_status: SandboxStatus,
    answers: Sequence[str] = ("reject_once",),
) -> Iterator[tuple[str, Decision]]:
    """Yield each command with the decision on it.

    A question gets the first of these answers that it offers, which holds for the later commands.
    """
    collector = FactCollector((root,), root.parent / "home", root.parent / "own")
    cwd = FileTarget(root, root.resolve(), is_inside=True)
    rules = RuleBook()
    for command in commands:
        is_isolated = sandbox_status == "confined"
        effect = RunCommandEffect(
            command, cwd, sandbox_status=sandbox_status, is_isolated=is_isolated
        )
        decision = decide(collector.collect(effect), "ask", rules)
        yield command, decision
        if isinstance(decision, Ask):
            offered = {str(each.id): each.scope for each in choices_for(decision, root)}
            scope = next(offered[each] for each in answers if each in offered)
            if scope is not None:
                rules.rules.append(PermissionRule(scope, is_allowed=True))
        else:
            assert isinstance(decision, Allow), command

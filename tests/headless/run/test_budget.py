"""Budgets and denials, before there is any server."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from acp_server.headless.run.budget import (
    BudgetLedger,
    PriceUnknownError,
    RunBudget,
    RunBudgetExceededError,
)
from acp_server.headless.run.denials import DenialLog
from acp_server.headless.run.denials import EffectTarget as Goal
from acp_server.permissions.effects import FileTarget, RunCommandEffect
from acp_server.permissions.gate import AuditRecord, Refusal
from acp_server.turn.conversation import Message
from acp_server.turn.events import Usage
from acp_server.turn.ports import ModelRequest


@dataclass(frozen=True, slots=True)
class Priced:
    price_usd: float | None
    window_tokens: int = 1000

    def estimate(self, request: ModelRequest) -> int:
        return len(request.system)

    @property
    def answer_tokens(self) -> int:
        return 0

    def estimate_message(self, message: Message) -> int:
        return len(message.parts)

    def cost_usd(self, usage: Usage) -> float | None:
        del usage
        return self.price_usd


def command(text: str, *, is_denied: bool = False) -> AuditRecord:
    here = FileTarget(Path("/code"), Path("/code"), is_inside=True)
    return AuditRecord(
        "c1", "terminal", RunCommandEffect(text, here), Refusal("no") if is_denied else None
    )


@pytest.mark.parametrize(
    ("budget", "is_spent"),
    [
        (RunBudget(), False),
        (RunBudget(requests=2), False),
        (RunBudget(requests=1), True),
        (RunBudget(tokens=100), False),
        (RunBudget(tokens=30), True),
        (RunBudget(cost_usd=1.0), False),
        (RunBudget(cost_usd=0.5), True),
    ],
    ids=["none", "calls left", "calls", "tokens left", "tokens", "money left", "money"],
)
def test_a_model_call_is_made_only_within_the_budget(budget: RunBudget, is_spent: bool) -> None:  # noqa: FBT001
    ledger = BudgetLedger(budget)
    ledger.usage.add(Usage(input_tokens=20, output_tokens=10), 0.5)
    meter = Priced(1.0)
    if not is_spent:
        ledger.check(meter, "m")
        assert ledger.error is None
        return
    with pytest.raises(RunBudgetExceededError):
        ledger.check(meter, "m")


def test_a_cost_limit_with_an_unknown_price_is_refused() -> None:
    with pytest.raises(PriceUnknownError):
        BudgetLedger(RunBudget(cost_usd=1.0)).check(Priced(None), "m")


def test_a_denial_counts_until_the_same_effect_is_allowed() -> None:
    denials = DenialLog(Path("/w"))
    assert denials.record_effect(command("make", is_denied=True))
    assert denials.record_effect(command("rm -r build", is_denied=True))
    assert denials.left_undone == (Goal("run", "make"), Goal("run", "rm -r build"))
    assert not denials.record_effect(command("make"))
    assert denials.left_undone == (Goal("run", "rm -r build"),)
    assert [denial.reason for denial in denials.denied] == ["no", "no"]

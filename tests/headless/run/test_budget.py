"""Budgets and denials, before there is any server."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from acp_server.headless.run.budget import Budget, BudgetSpentError, Ledger, PriceUnknownError
from acp_server.headless.run.denials import Denials
from acp_server.headless.run.denials import Target as Goal
from acp_server.permissions.effects import RunCommand, Target
from acp_server.permissions.gate import Passage, Refusal
from acp_server.turn.events import Usage
from acp_server.turn.ports import ModelRequest


@dataclass(frozen=True, slots=True)
class Priced:
    price_usd: float | None
    window_tokens: int = 1000

    def estimate(self, request: ModelRequest) -> int:
        return len(request.system)

    def cost_usd(self, usage: Usage) -> float | None:
        del usage
        return self.price_usd


def command(text: str, *, is_denied: bool = False) -> Passage:
    here = Target(Path("/code"), Path("/code"), is_inside=True)
    return Passage("c1", "terminal", RunCommand(text, here), Refusal("no") if is_denied else None)


@pytest.mark.parametrize(
    ("budget", "is_spent"),
    [
        (Budget(), False),
        (Budget(requests=2), False),
        (Budget(requests=1), True),
        (Budget(tokens=100), False),
        (Budget(tokens=30), True),
        (Budget(cost_usd=1.0), False),
        (Budget(cost_usd=0.5), True),
    ],
    ids=["none", "calls left", "calls", "tokens left", "tokens", "money left", "money"],
)
def test_a_call_is_made_only_within_the_budget(budget: Budget, is_spent: bool) -> None:  # noqa: FBT001
    ledger = Ledger(budget)
    ledger.spent.add(Usage(input_tokens=20, output_tokens=10), 0.5)
    meter = Priced(1.0)
    if not is_spent:
        ledger.check(meter, "m")
        assert ledger.fault is None
        return
    with pytest.raises(BudgetSpentError):
        ledger.check(meter, "m")


def test_a_limit_on_an_unknown_price_is_no_limit_and_refused() -> None:
    with pytest.raises(PriceUnknownError):
        Ledger(Budget(cost_usd=1.0)).check(Priced(None), "m")


def test_a_denial_counts_until_the_same_is_let_through() -> None:
    denials = Denials()
    assert denials.witness(command("make", is_denied=True))
    assert denials.witness(command("rm -r build", is_denied=True))
    assert denials.left_undone == (Goal("run", "make"), Goal("run", "rm -r build"))
    assert not denials.witness(command("make"))
    assert denials.left_undone == (Goal("run", "rm -r build"),)
    assert [denial.reason for denial in denials.denied] == ["no", "no"]

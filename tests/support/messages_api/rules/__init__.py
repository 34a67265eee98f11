"""What the API refuses of a well-shaped request, in the order in which it is looked at.

Each rule takes an `Ask` and raises `Refusal`, or does nothing. Whether thinking blocks are genuine
is not decided here but in `history`.
"""

from collections.abc import Callable

from tests.support.messages_api.asking import Ask
from tests.support.messages_api.rules.caching import check_marks
from tests.support.messages_api.rules.conversation import check_messages
from tests.support.messages_api.rules.pairing import check_pairs
from tests.support.messages_api.rules.parameters import check_parameters
from tests.support.messages_api.rules.searching import check_searches
from tests.support.messages_api.rules.tools import check_tools

Rule = Callable[[Ask], None]

RULES: tuple[Rule, ...] = (
    check_parameters,
    check_tools,
    check_messages,
    check_pairs,
    check_searches,
    check_marks,
)


def check(ask: Ask) -> None:
    """Hold a request against every rule.

    Raises:
        Refusal: It breaks one.
    """
    for rule in RULES:
        rule(ask)

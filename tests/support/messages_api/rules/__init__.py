"""Rules for well-formed requests, in the order in which the API checks them.

Each rule takes a `ParsedRequest` and raises `MessagesApiRefusal` or returns. The module
`thinking_history` checks whether thinking blocks are genuine.
"""

from collections.abc import Callable

from tests.support.messages_api.parsed_request import ParsedRequest
from tests.support.messages_api.rules.caching import check_cache_control
from tests.support.messages_api.rules.conversation import check_messages
from tests.support.messages_api.rules.parameters import check_parameters
from tests.support.messages_api.rules.tool_results import check_tool_results
from tests.support.messages_api.rules.tools import check_tools
from tests.support.messages_api.rules.web_search import check_web_searches

Rule = Callable[[ParsedRequest], None]

RULES: tuple[Rule, ...] = (
    check_parameters,
    check_tools,
    check_messages,
    check_tool_results,
    check_web_searches,
    check_cache_control,
)


def check_request(ask: ParsedRequest) -> None:
    """Check a request against all rules.

    Raises:
        MessagesApiRefusal: It violates a rule.
    """
    for rule in RULES:
        rule(ask)

"""Deferred import of the code behind `symbols`: sessions that never call it do not load it."""

from typing import TYPE_CHECKING

from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.tool import ToolUse

if TYPE_CHECKING:
    from acp_server.tools.symbols.call_arguments import SymbolServices


def create_symbols_use(services: "SymbolServices", reporter: CallReporter) -> ToolUse:
    """Return a new call of `symbols`; blocks for the import."""
    from acp_server.tools.symbols.symbols import SymbolsUse

    return SymbolsUse(services, reporter)

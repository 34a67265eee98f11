"""Deferred import of the code behind `symbols`: sessions that never call it do not load it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from acp_server.tools.call_reporter import CallReporter
from acp_server.tools.edit.edit_flow import EditServices
from acp_server.tools.files.paths import ResolvedPath
from acp_server.tools.search.query import SearchHit
from acp_server.tools.tool import ToolUse

if TYPE_CHECKING:
    from acp_server.tools.symbols.call_arguments import SymbolServices


def create_symbols_use(services: "SymbolServices", reporter: CallReporter) -> ToolUse:
    """Return a new call of `symbols`; blocks for the import."""
    from acp_server.tools.symbols.symbols import SymbolsUse

    return SymbolsUse(services, reporter)


async def name_enclosing(
    services: EditServices, root: ResolvedPath, hits: Sequence[SearchHit]
) -> Mapping[SearchHit, str]:
    """Return the symbols that lines are inside of, in small source files; blocks for the import."""
    from acp_server.tools.symbols.enclosing import name_enclosing_symbols

    return await name_enclosing_symbols(services, root, hits)

"""Arguments of the tool `symbols`, and what its calls need."""

from pydantic import Field

from acp_server.session.ports.editor import EditorPort, SymbolAction
from acp_server.session.saved_outputs import SavedOutputs
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.arguments import Arguments
from acp_server.tools.edit.edit_flow import EditServices
from acp_server.tools.shell.confinement.sandbox import SessionSandbox
from acp_server.tools.symbols.definition_index import DefinitionIndexes, Spawn


class SymbolArguments(Arguments):
    """What to find, and where."""

    action: SymbolAction = Field(description="what to do")
    path: str = Field(default="", description="file, or where to look")
    name: str = Field(default="", description="such as Order.total")
    new_name: str = Field(default="", description="for rename")


@frozen_dataclass
class SymbolServices:
    """Dependencies of the tool in one session, or in one sub-agent."""

    edit: EditServices
    sandbox: SessionSandbox | None
    outputs: SavedOutputs
    editor: EditorPort
    indexes: DefinitionIndexes
    spawn: Spawn
    """Starts what goes on after the call."""

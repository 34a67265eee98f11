"""What a session tells the model at its beginning: the facts are read here, once, off the loop."""

import platform
from datetime import UTC, datetime

from anyio import to_thread

from acp_server.session.session import Workspace
from prompt_engine.assemble import assemble
from prompt_engine.inputs import PromptInputs
from prompt_engine.sources.context_files import find_context_files


async def write_system_prompt(workspace: Workspace) -> str:
    """Return the system prompt of a session that begins now."""
    return await to_thread.run_sync(_write, workspace)


def _write(workspace: Workspace) -> str:
    inputs = PromptInputs(
        day=f"{datetime.now(UTC).astimezone():%A, %B %d, %Y}",
        environment=f"The operating system is {platform.system()}.",
        workspace=str(workspace.cwd),
        context_files=find_context_files(workspace.cwd),
    )
    return assemble(inputs).text

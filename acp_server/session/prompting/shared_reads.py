"""Disk reads that sessions of the same workspace share."""

from typing import TYPE_CHECKING

from acp_server.session.prompting.single_flight import SingleFlight

if TYPE_CHECKING:
    from acp_server.session.prompting.workspace_facts import EnvironmentFacts, InstructionFiles


class SharedReads:
    """Shared reads of sessions with the same prompt settings."""

    def __init__(self) -> None:
        """Start without pending reads."""
        self.environment_facts: SingleFlight[EnvironmentFacts] = SingleFlight()
        self.instruction_files: SingleFlight[InstructionFiles] = SingleFlight()

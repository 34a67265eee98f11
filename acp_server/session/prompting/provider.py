"""The prompt provider port: supplies a session's system prompt and directory instructions.

The system prompt is written from facts that are read once and then frozen. Instructions found in
subdirectories are delivered with the results of the tool calls that touched those directories.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from pydantic import JsonValue

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.turn.conversation import Conversation


@frozen_dataclass
class SystemPromptRequest:
    """Inputs for rendering a system prompt."""

    model_id: str
    window_tokens: int | None
    """The model's context window in tokens; None if it is only assumed."""
    tools: frozenset[str]
    """Names of the tools sent with the request."""
    skills_index: str = ""
    """The prompt section that lists the skills."""
    external_memory: str = ""
    """The prompt section of the external memory."""


@frozen_dataclass
class InstructionDelivery:
    """Instructions for the model, and the names of their files for the user."""

    text: str
    labels: tuple[str, ...]
    notices: tuple[str, ...] = ()


@frozen_dataclass
class LoadedFile:
    """An instruction file that was delivered to the model."""

    path: str
    """As shown to the model: relative to the session's directory, or absolute."""
    sha256: str
    """Of the delivered text, in UTF-8."""
    characters: int
    is_truncated: bool = False


class PromptProvider(Protocol):
    """Supplies the system prompt and instructions of one session."""

    async def gather_facts(self) -> None:
        """Read the facts ahead of time, before a prompt needs them."""
        ...

    async def write_prompt(self, request: SystemPromptRequest) -> str:
        """Return the system prompt; every call renders it from the facts as they are then."""
        ...

    def take_notices(self) -> Sequence[str]:
        """Return notices for the user about the prompt written last; each is returned once."""
        ...

    def describe(self) -> str:
        """Describe the prompt's contents as Markdown."""
        ...

    def loaded_files(self) -> Sequence[LoadedFile]:
        """Return the instruction files delivered so far, in the prompt and with tool results."""
        ...

    async def workspace_facts(self) -> str:
        """Return the detected facts of the workspace as a Markdown list."""
        ...

    def project_settings(self) -> Mapping[str, JsonValue]:
        """Return the settings from the frontmatter of instruction files; the nearest file wins."""
        ...

    def prompt_remarks(self, conversation: Conversation) -> Sequence[str]:
        """Return remarks for the next prompt that the model has not received yet."""
        ...

    def state(self) -> Mapping[str, JsonValue]:
        """Return the state that another process needs to continue with the prompt written last."""
        ...

    async def restore(self, text: str, state: Mapping[str, JsonValue]) -> bool:
        """Continue with a previous process's prompt; return whether it still matches its files."""
        ...

    async def find_instructions(
        self, conversation: Conversation, touched: Mapping[str, Sequence[str]]
    ) -> Mapping[str, InstructionDelivery]:
        """Return new instructions for touched absolute paths, with the same keys in order."""
        ...

    def close(self) -> None:
        """Stop reporting changes."""
        ...


class FixedPromptProvider:
    """A fixed system prompt without instructions or settings."""

    def __init__(self, system: str = "") -> None:
        self.system = system

    async def gather_facts(self) -> None:
        """Do nothing."""

    async def write_prompt(self, request: SystemPromptRequest) -> str:
        """Return the fixed prompt."""
        del request
        return self.system

    def take_notices(self) -> Sequence[str]:
        """Return no notices."""
        return ()

    def describe(self) -> str:
        """Report the prompt's length."""
        return f"The system prompt has {len(self.system):,} characters."

    def loaded_files(self) -> Sequence[LoadedFile]:
        """Return no files."""
        return ()

    async def workspace_facts(self) -> str:
        """Return an empty text."""
        return ""

    def project_settings(self) -> Mapping[str, JsonValue]:
        """Return no settings."""
        return {}

    def prompt_remarks(self, conversation: Conversation) -> Sequence[str]:
        """Return no remarks."""
        del conversation
        return ()

    def state(self) -> Mapping[str, JsonValue]:
        """Return an empty state."""
        return {}

    async def restore(self, text: str, state: Mapping[str, JsonValue]) -> bool:
        """Return whether the text is the fixed prompt."""
        del state
        return text == self.system

    async def find_instructions(
        self, conversation: Conversation, touched: Mapping[str, Sequence[str]]
    ) -> Mapping[str, InstructionDelivery]:
        """Return no instructions."""
        del conversation, touched
        return {}

    def close(self) -> None:
        """Do nothing."""

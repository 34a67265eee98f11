"""Settings of Mem0: `HERMES_HOME/mem0.json` over variables, as Hermes reads them."""

from collections.abc import Mapping
from dataclasses import field
from typing import Literal, get_args

from pydantic import JsonValue

from acp_server.memory.provider import MemoryContext, ProviderUnavailableError
from acp_server.memory.provider_files import first_bool, first_text, read_settings_file
from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.text.json_values import as_object

Mem0Mode = Literal["platform", "oss"]
PLATFORM_HOST = "https://api.mem0.ai"
HERMES_PLACEHOLDER = "hermes-user"
"""The user id that Hermes' setup writes; it means that none was chosen."""


@frozen_dataclass
class Mem0Config:
    """How to reach Mem0, and whose memories to use."""

    mode: Mem0Mode = "platform"
    api_key: str = field(default="", repr=False)
    host: str = ""
    """Address of a server of one's own; empty: the platform."""
    platform_host: str = PLATFORM_HOST
    user_id: str = HERMES_PLACEHOLDER
    agent_id: str = "hermes"
    is_reranked: bool = False
    oss: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue], repr=False)
    """Settings of Mem0's library for the mode `oss`."""


def read_mem0_config(context: MemoryContext) -> Mem0Config:
    """Return the settings. Blocks.

    Raises:
        ProviderUnavailableError: the file cannot be read, or what is needed is missing.
    """
    file, keys = read_settings_file(context.home / "mem0.json"), context.keys
    own = context.settings

    def text(name: str, default: str = "") -> str:
        variable = keys.get(f"MEM0_{name.upper()}")
        return first_text(own.get(name), file.get(name), variable, default)

    mode = text("mode", "platform")
    if mode not in get_args(Mem0Mode):
        message = f"mem0.json: mode must be platform or oss, not {mode!r}"
        raise ProviderUnavailableError(message)
    user_id = text("user_id")
    config = Mem0Config(
        mode="oss" if mode == "oss" else "platform",
        api_key=text("api_key"),
        host=text("host").rstrip("/"),
        platform_host=text("platform_host", PLATFORM_HOST).rstrip("/"),
        # The same user has the same memories in both programs.
        user_id=user_id or HERMES_PLACEHOLDER,
        agent_id=text("agent_id", "hermes"),
        is_reranked=first_bool(own.get("rerank"), file.get("rerank"), default=False),
        oss=as_object(file.get("oss", {})),
    )
    if config.mode == "oss" and not config.oss.get("vector_store"):
        message = "mem0.json: the mode oss needs oss.vector_store, oss.llm and oss.embedder"
        raise ProviderUnavailableError(message)
    if config.mode == "platform" and not (config.api_key or config.host):
        message = (
            "it has no key; run `acp-server memory setup mem0`, or set MEM0_API_KEY in "
            f"{context.home / '.env'}, or host for a server of your own"
        )
        raise ProviderUnavailableError(message)
    return config

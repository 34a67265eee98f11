"""The packages of the SDK that are entered part by part.

Whole, they import three thousand modules, nearly all of them shapes of APIs that nobody here calls:
two thirds of the time, and half of the memory.
"""

from acp_server.lazy_packages import enter

PACKAGES = (
    "anthropic",
    "anthropic.lib.credentials",
    "anthropic.resources",
    "anthropic.types",
    "anthropic.types.organization",
    "anthropic.types.shared",
    "anthropic.types.beta",
    "anthropic.types.beta.environments",
    "anthropic.types.beta.organization",
    "anthropic.types.beta.sessions",
)
"""Parents first. One that a release does not have is passed over."""


def enter_packages() -> None:
    """Make the SDK importable part by part; what of it is imported already stays so."""
    enter(PACKAGES)

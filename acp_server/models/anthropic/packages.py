"""The packages of the SDK that are entered part by part.

Whole, they import three thousand modules, nearly all of them shapes of APIs that nobody here calls:
two thirds of the time, and half of the memory.
"""

import sys
from importlib import import_module

from acp_server.lazy_packages import enter
from acp_server.stand_ins import stood_in

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

SHAPES = "anthropic.types"
"""What requests and answers look like: the client names nearly all of it, for its traces and for
the errors of every API. We send bodies of our own, read the events ourselves and trace nothing, so
nine hundred modules need not be there for a prompt.
"""
CLIENT = "anthropic._client"


def enter_packages() -> None:
    """Make the SDK importable part by part; what of it is imported already stays so."""
    enter(PACKAGES)
    if CLIENT not in sys.modules:
        with stood_in(SHAPES):
            import_module(CLIENT)

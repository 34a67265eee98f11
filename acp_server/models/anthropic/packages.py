"""Packages of the SDK whose submodules are imported lazily.

A full import loads three thousand modules, nearly all of them types of APIs that are not used here.
They cost two thirds of the import time and half of the memory.
"""

import sys
from importlib import import_module

from acp_server.startup.lazy_import import make_lazy
from acp_server.startup.type_stubs_import import placeholder_imports

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
"""Parents first. A package that is missing in a release is skipped."""

TYPES_PACKAGE = "anthropic.types"
"""The types of requests and answers. The client imports nearly all of them, for tracing and for the
errors of every API. This adapter encodes bodies and decodes events itself and does not trace, so
nine hundred modules are not needed for a prompt.
"""
CLIENT_MODULE = "anthropic._client"


def make_packages_lazy() -> None:
    """Make the SDK's packages lazy; modules that are already imported stay unchanged."""
    make_lazy(PACKAGES)
    # If the client is already imported, so are its types: placeholders would save nothing.
    if CLIENT_MODULE not in sys.modules:
        with placeholder_imports(TYPES_PACKAGE):
            import_module(CLIENT_MODULE)

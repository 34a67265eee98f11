"""Imports the SDK without the thousands of modules that are not used here.

A full import loads three thousand modules, nearly all of them types of APIs that are not used here.
They cost nine tenths of the import time and half of the memory.
"""

import sys
from contextlib import suppress
from functools import partial
from importlib import import_module
from threading import Lock
from typing import TYPE_CHECKING

from acp_server.models.cache_markers import CacheMarker
from acp_server.models.traffic import ModelTraffic
from acp_server.startup.code_store import check_once
from acp_server.startup.fallback import fast_or_plain
from acp_server.startup.lazy_import import as_not_installed, make_lazy
from acp_server.startup.quick_metadata import quick_versions
from acp_server.startup.type_stubs_import import placeholder_imports

if TYPE_CHECKING:
    from acp_server.models.anthropic.entry_point import AnthropicEntryPoint

SDK_PACKAGE = "anthropic"
USER_PACKAGE = "acp_server.models.anthropic"
"""What uses the SDK: it has names of it, so if that is imported again, so is this."""
LAZY_PACKAGES = (
    SDK_PACKAGE,
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
HTTP_CONNECTIONS = "httpcore2"
"""Connections of the SDK's HTTP client, which imports them as it is created."""
OTHER_HTTP_CLIENT = "anthropic._vendor.httpx_aiohttp"
"""An optional part that the SDK looks for: it imports 20 modules even if aiohttp is not there."""

_lock = Lock()
"""Held while the SDK is imported: another thread that imported it meanwhile would get placeholders.
Nothing else in this process imports it (`tests/architecture/test_sdk_imports.py`)."""


def open_entry_point(
    cache_marker: CacheMarker,
    traffic: ModelTraffic | None = None,
    *,
    needs_authorities: bool = True,
) -> "AnthropicEntryPoint":
    """Import the SDK and return a new entry point that uses it; blocks."""
    with _lock:
        entry_point = fast_or_plain(
            "the fast import of the Messages API's SDK",
            partial(_import_lazily, cache_marker),
            _import_plainly,
            packages=(SDK_PACKAGE, USER_PACKAGE),
        )
    return entry_point(cache_marker, traffic, needs_authorities=needs_authorities)


def _import_lazily(cache_marker: CacheMarker) -> "type[AnthropicEntryPoint]":
    # Already imported, lazily or in full: nothing can be saved any more.
    if CLIENT_MODULE not in sys.modules:
        with quick_versions():
            make_lazy(LAZY_PACKAGES)
            with placeholder_imports(TYPES_PACKAGE), as_not_installed(OTHER_HTTP_CLIENT):
                import_module(CLIENT_MODULE)
            with suppress(ImportError):  # another release may do without
                import_module(HTTP_CONNECTIONS)
        from acp_server.models.anthropic.self_check import check_sdk

        check_once("SDK", partial(check_sdk, cache_marker))
    return _import_plainly()


def _import_plainly() -> "type[AnthropicEntryPoint]":
    from acp_server.models.anthropic.entry_point import AnthropicEntryPoint

    return AnthropicEntryPoint

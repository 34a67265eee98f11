"""Imports the SDK as a server does, without the two thousand modules that no server uses.

Every worker of the suite collects these files first; imported in full, the SDK would take a second
in each.
"""

from functools import partial

from acp_server.models.anthropic.packages import open_entry_point
from prompt_engine.cache_control import add_cache_breakpoints

open_entry_point(partial(add_cache_breakpoints, ttl="5m"))

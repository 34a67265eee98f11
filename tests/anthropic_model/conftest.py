"""Imports the SDK as a server does, without the two thousand modules that no server uses.

Every worker of the suite collects these files first; imported in full, the SDK would take a second
in each.
"""

import sys
from functools import partial

from acp_server.models.anthropic.packages import SDK_PACKAGE, open_entry_point
from prompt_engine.cache_control import add_cache_breakpoints

open_entry_point(partial(add_cache_breakpoints, ttl="5m"))
# pytest looks this up in every module that a test module has imported: an unknown name of the SDK
# would import all of it, and these tests would run with another SDK than the server.
vars(sys.modules[SDK_PACKAGE])["_mock_name"] = None

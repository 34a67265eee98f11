"""What is imported of the SDK, and that it is the SDK all the same."""

import json
import subprocess
import sys

PROGRAM = """
import json, sys
from acp_server.models.lazy_imports import _open_anthropic
from prompt_engine.cache_control import add_cache_breakpoints
_open_anthropic(add_cache_breakpoints)
used = len([each for each in sys.modules if each.startswith("anthropic")])

from acp_server.models.anthropic import adapter, endpoint, failures as faults
import anthropic
from anthropic import *
from anthropic.types import MessageParam, TextBlock
from anthropic.types.beta import BetaMessage

client = anthropic.Anthropic(api_key="key")
print(json.dumps({
    "is_small": used < 250,
    "same error": APIStatusError is faults.APIStatusError is anthropic.APIStatusError,
    "same client": anthropic.AsyncAnthropic is endpoint.AsyncAnthropic,
    "create": callable(client.messages.create) and callable(client.beta.messages.create),
    "version": isinstance(anthropic.__version__, str),
    "models": [each.__module__.split(".")[0] for each in (TextBlock, BetaMessage)],
}))
"""


def test_the_sdk_is_imported_lazily_and_still_works_in_full() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, check=True)
    assert json.loads(done.stdout) == {
        "is_small": True,
        "same error": True,
        "same client": True,
        "create": True,
        "version": True,
        "models": ["anthropic", "anthropic"],
    }

"""Turn costs through the model adapters: `uv run python -m tests.benchmarks.turns --form chat`.

The server is a separate process; the endpoint is a thread of this one on loopback and speaks
`messages`, `chat` or `responses`. Prints medians with the spread, times also as a ratio to bare
Python in the same run.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from contextlib import AbstractContextManager
from pathlib import Path

from tests.benchmarks.agent import MeasuredAgent
from tests.benchmarks.clock import measure_bare_python
from tests.support.messages_api import (
    KEY,
    FakeApiServerInThread,
    ParsedRequest,
    ScriptedReply,
    messages_api_in_thread,
    reply,
    say,
)
from tests.support.openai_api import OpenAiRequest, OpenAiServerConfig, openai_api_in_thread

CHUNKS = 10_000
CHUNK = "five words of text here. "
SETTLED_SECONDS = 3.0
WARM_TURNS = 20
MODES = {"chat": "chat_completions", "responses": "codex_responses"}
HOME = """\
model: {{provider: custom, default: gpt-4.1, base_url: "{url}", api_key: {key}, api_mode: {mode}}}
"""
COMMAND = [sys.executable, "-m", "acp_server", "serve"]


def respond(ask: ParsedRequest | OpenAiRequest) -> ScriptedReply:
    """Answer the prompt `chunks` with many chunks, any other prompt with one word."""
    if ask.last_text == "chunks":
        return reply(say(CHUNK * CHUNKS), chunk_characters=len(CHUNK))
    return reply("Hello.")


def measure(folder: Path, wait_seconds: float) -> dict[str, float]:
    """Return the figures of one server, prompted this long after its first session."""
    figures: dict[str, float] = {}
    with MeasuredAgent(COMMAND, folder) as agent:
        agent.initialize()
        session = agent.new_session(folder)
        figures["memory after session/new, MiB"] = agent.resident_mebibytes
        time.sleep(wait_seconds)
        figures[f"first prompt {wait_seconds:.0f} s after session/new, ms"] = _prompt(
            agent, session
        )
        if not wait_seconds:
            return figures
        warm = [_prompt(agent, session) for _ in range(WARM_TURNS)]
        figures["warm turn, ms"] = statistics.median(warm)
        figures["memory after 21 turns, MiB"] = agent.resident_mebibytes
        agent.prompt(session, "chunks")
        before = agent.cpu_seconds
        updates = agent.prompt(session, "chunks")
        figures["CPU per chunk, µs"] = (agent.cpu_seconds - before) / CHUNKS * 1e6
        figures["updates per chunk"] = updates / CHUNKS
        figures["memory at the end, MiB"] = agent.resident_mebibytes
    return figures


def _prompt(agent: MeasuredAgent, session: str) -> float:
    started_at = time.perf_counter()
    agent.prompt(session, "hi")
    return (time.perf_counter() - started_at) * 1000


def _fresh(api: FakeApiServerInThread, wait_seconds: float) -> dict[str, float]:
    os.environ["ANTHROPIC_API_KEY"] = KEY
    with tempfile.TemporaryDirectory() as name:
        if api.form == "messages":
            os.environ["ANTHROPIC_BASE_URL"] = api.url
        else:
            home = HOME.format(url=api.url, key=KEY, mode=MODES[api.form])
            (Path(name) / "config.yaml").write_text(home)
        return measure(Path(name), wait_seconds)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--form", choices=["messages", *MODES], default="messages")
    arguments = parser.parse_args()
    unit = statistics.median(measure_bare_python() for _ in range(7))
    print(f"  bare Python, ms {unit:.1f}")
    with _endpoint(arguments.form) as api:
        for wait_seconds in (0.0, SETTLED_SECONDS):
            _fresh(api, wait_seconds)  # warms the disk cache
            runs = [_fresh(api, wait_seconds) for _ in range(arguments.runs)]
            for name in runs[0]:
                values = [run[name] for run in runs]
                _print(name, values, unit)


def _endpoint(form: str) -> AbstractContextManager[FakeApiServerInThread]:
    if form == "messages":
        return messages_api_in_thread(respond)
    return openai_api_in_thread(
        respond, OpenAiServerConfig(form="chat" if form == "chat" else "responses")
    )


def _print(name: str, values: list[float], unit: float) -> None:
    median, spread = statistics.median(values), (max(values) - min(values)) / 2
    ratio = f"{median / unit:7.1f} x bare Python" if name.endswith(" ms") else ""
    print(f"  {name:42} {median:9.1f}  ± {spread:6.1f}  {ratio}")


if __name__ == "__main__":
    main()

"""Bytes of tool results: `uv run python -m tests.benchmarks.exploration --peers hermes,claude`.

A model explores a copy of this repository by 25 calls, in one session. Each row is the text of the
results of one call, in bytes, as the next request to the model holds it.
"""

import argparse
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.benchmarks.agent_setup import (
    EndpointProcess,
    ReceivedRequest,
    create_setup,
    endpoint_process,
)
from tests.benchmarks.endpoint.exploration import OPERATIONS
from tests.benchmarks.endpoint.model_requests import objects, text_of
from tests.benchmarks.peers import OWN_AGENT, PEERS

REPOSITORY = Path(__file__).parents[2]
TURN_SECONDS = 90.0
_REMINDER = re.compile(r"\s*<system-reminder>\s*<total_tokens>.*?</system-reminder>", re.DOTALL)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", default="")
    parser.add_argument("--texts", type=Path, help="folder for the texts of the results")
    options = parser.parse_args()
    names = [OWN_AGENT, *filter(None, str(options.peers).split(","))]
    texts: Path | None = options.texts
    new_folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
    with new_folder as folder, endpoint_process() as endpoint:
        results = {name: explore(name, Path(folder), endpoint) for name in names}
    if texts is not None:
        _save(texts, results)
    print(*_format_table(results), sep="\n")


def explore(name: str, folder: Path, endpoint: EndpointProcess) -> Sequence[str]:
    """Return the texts of the results that an agent's model gets, one for each operation."""
    setup = create_setup(PEERS[name], folder, endpoint)
    copy_repository(setup.project)
    texts: list[str] = []
    with setup.start() as agent:
        agent.initialize()
        session = agent.new_session(setup.project)
        for number in range(len(OPERATIONS)):
            command = setup.format_command(f"explore {number}")
            endpoint.set_recording(is_keeping=True)
            agent.run_turn(session, command, TURN_SECONDS)
            texts.append(_result_text(endpoint.take_requests(), command))
            endpoint.set_recording(is_keeping=False)
    return texts


def copy_repository(project: Path) -> None:
    """Replace a project by a clone of this repository."""
    shutil.rmtree(project)
    subprocess.run(
        ["git", "clone", "--quiet", "--no-hardlinks", str(REPOSITORY), str(project)], check=True
    )


def _result_text(requests: Sequence[ReceivedRequest], command: str) -> str:
    """Return the texts of the tool results behind a command, without notes on the context window.

    Other requests of the turn, such as background reviews, do not end in tool results.
    """
    for request in reversed(requests):
        messages = objects(request.body.get("messages"))
        asked = [index for index, each in enumerate(messages) if command in str(each)]
        last = objects(messages[-1].get("content")) if messages else []
        results = [block for block in last if block.get("type") == "tool_result"]
        if asked and results:
            text = "\n".join(text_of(block.get("content")) for block in results)
            return _REMINDER.sub("", text)
    return ""


def _save(folder: Path, results: Mapping[str, Sequence[str]]) -> None:
    for name, texts in results.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number, text in enumerate(texts):
            (folder / name / f"{number:02}.txt").write_text(text, encoding="utf-8")


def _format_table(results: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield a row for each operation, and the total; in brackets the ratio to the best other."""
    yield "| bytes of results | " + " | ".join(results) + " |"
    yield "|---|" + "---:|" * len(results)
    sizes = {name: [len(text.encode()) for text in texts] for name, texts in results.items()}
    for number, operation in enumerate(OPERATIONS):
        yield _row(operation.title, [sizes[name][number] for name in results])
    yield _row("together", [sum(sizes[name]) for name in results])


def _row(title: str, sizes: Sequence[int]) -> str:
    best = min(sizes[1:], default=0)
    ratio = f" ({sizes[0] / best:.2f})" if best else ""
    others = "".join(f" {each:,} |" for each in sizes[1:])
    return f"| {title} | {sizes[0]:,}{ratio} |{others}"


if __name__ == "__main__":
    main()

"""Benchmark of instruction files and hints in a small and in a large repository.

Run: uv run python -m tests.prompt_engine.sources.measure
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from prompt_engine.hint_blocks import LoadedHints, find_loaded_hints, wrap_hint
from prompt_engine.sources.context_files import ContextRequest, find_project_context
from prompt_engine.sources.file_reading import SETTLED_NANOSECONDS
from prompt_engine.sources.subdirectory_hints import HintFinder
from tests.prompt_engine.sources.trees import scan, write_tree

SECRET = b"of this session"
FILES_PER_FOLDER = 100


def measure(title: str, work: Callable[[], object], times: int = 300) -> None:
    """Print median and maximum time of some work."""
    seconds: list[float] = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - began)
    median, longest = statistics.median(seconds) * 1_000, max(seconds) * 1_000
    sys.stdout.write(f"{title:<52}{median:8.3f} ms  longest {longest:7.3f} ms\n")


def create_repository(root: Path, size: int) -> Path:
    """Create a repository of this many files, with instructions in two directories."""
    for number in range(max(size // FILES_PER_FOLDER, 1)):
        folder = root / f"p{number % 10}" / f"m{number}"
        folder.mkdir(parents=True)
        for each in range(min(size, FILES_PER_FOLDER)):
            (folder / f"{each}.py").touch()
    ignored = "\n".join(f"*.o{number}\nbuild{number}/" for number in range(40))
    texts = {"AGENTS.md": "Use tabs. " * 300, "p0/AGENTS.md": "Use spaces. " * 100}
    return write_tree(root, {".git/HEAD": "", ".gitignore": ignored, "p0/m0/a/b/c/": "", **texts})


def settle() -> None:
    """Wait until no modification time is recent."""
    time.sleep(SETTLED_NANOSECONDS / 1e9 + 0.1)


def measure_repository(root: Path) -> None:
    """Measure everything in one repository."""
    deep = root / "p0" / "m0" / "a" / "b" / "c"
    measure("instructions", lambda: find_project_context(ContextRequest(root), scan))
    measure(
        "instructions, five folders down", lambda: find_project_context(ContextRequest(deep), scan)
    )
    settle()
    finder = HintFinder([root], scan)
    loaded = find_project_context(ContextRequest(root), scan).loaded
    first = finder.find([deep / "x"], loaded)
    loaded = loaded.merged_with(first.loaded)
    measure_hints(finder, root, loaded)
    rule = "---\nglobs: src/**/*.ts, *.x\nalwaysApply: false\n---\nrule "
    write_tree(root, {f".cursor/rules/{number}.mdc": f"{rule}{number}" for number in range(20)})
    settle()
    measure("hints with 20 rules", lambda: finder.find([deep / "x"], loaded))
    measure(
        "instructions with 20 rules", lambda: find_project_context(ContextRequest(root), scan), 50
    )
    write_tree(root, {"AGENTS.md": "a line of text\n" * 700_000})
    measure("instructions of 10 MB", lambda: find_project_context(ContextRequest(root), scan), 10)
    texts = ["output of a tool " * 500] * 300 + [wrap_hint(first.hints[0], SECRET)] * 30
    measure("what 2.6 MB of conversation hold", lambda: find_loaded_hints(texts, SECRET), 50)


def measure_hints(finder: HintFinder, root: Path, loaded: LoadedHints) -> None:
    """Measure look-ups that find nothing new."""
    shallow, deep = root / "p0" / "m0" / "1.py", root / "p0" / "m0" / "a" / "b" / "c" / "x"
    several = [root / f"p{number}" / f"m{number}" / "1.py" for number in range(5)]
    measure("hints", lambda: finder.find([shallow], loaded))
    measure("hints, five folders down", lambda: finder.find([deep], loaded))
    measure("hints, five paths", lambda: finder.find(several, loaded))


if __name__ == "__main__":
    for count in (10, 100_000):
        with tempfile.TemporaryDirectory() as folder:
            sys.stdout.write(f"-- {count:,} files\n")
            measure_repository(create_repository(Path(folder).resolve() / "w", count))

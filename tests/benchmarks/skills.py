"""Cost of finding skills: `uv run python -m tests.benchmarks.skills [--runs N]`.

Cold: every SKILL.md is read. Snapshot: a new library reads the snapshot file. Warm: the same
library is asked again, with and without a file watcher. Each is also a ratio to one bare `stat` of
every directory and SKILL.md. Memory and disk caches are warm: only our own work is measured.
"""

import argparse
import os
import statistics
import tempfile
from pathlib import Path

from skills_store.index import IndexRequest
from skills_store.library import SkillLibrary
from skills_store.skill import SkillRoot
from tests.benchmarks.clock import time_ms

COUNTS = (0, 10, 500, 1_000, 5_000)
CATEGORIES = 20
LONG_AGO_SECONDS = 1_700_000_000  # very recent changes are not cached
SKILL = """---
name: {name}
description: Use this when work of kind {number} is to be done in a careful way, step by step.
license: MIT
metadata:
  version: "1.0"
  hermes:
    tags:
      - kind-{number}
      - example
---

# Work of kind {number}

1. Look at what is there: `ls -la`.
2. Do the work.
3. Verify it.
"""


def make_skills(folder: Path, count: int) -> None:
    """Write skills, spread evenly over categories, with old modification times."""
    folder.mkdir(parents=True)
    for number in range(count):
        name = f"skill-{number:04}"
        directory = folder / f"category-{number % CATEGORIES:02}" / name
        (directory / "references").mkdir(parents=True)
        (directory / "SKILL.md").write_text(SKILL.format(name=name, number=number))
    for path in (folder, *folder.rglob("*")):
        os.utime(path, (LONG_AGO_SECONDS, LONG_AGO_SECONDS))


def measure(folder: Path, snapshot_file: Path) -> dict[str, float]:
    """Return milliseconds, and the number of characters of the index."""
    paths = [folder, *folder.glob("*"), *folder.glob("*/skill-*"), *folder.rglob("SKILL.md")]
    names = [str(path) for path in paths]
    figures = {"one stat of each": time_ms(lambda: [os.stat(name) for name in names])}  # noqa: PTH116
    root = SkillRoot("home", folder)
    request = IndexRequest()
    snapshot_file.unlink(missing_ok=True)
    figures["cold, nothing kept"] = time_ms(lambda: SkillLibrary(lambda: [root]).index(request))
    figures["cold, snapshot written"] = time_ms(
        lambda: SkillLibrary(lambda: [root], snapshot_file).index(request)
    )
    library = SkillLibrary(lambda: [root], snapshot_file)
    figures["from the snapshot"] = time_ms(lambda: library.index(request))
    figures["warm, not watched"] = time_ms(lambda: library.index(request))
    library.set_watched(is_watched=True)
    library.index(request)
    figures["warm, watched"] = time_ms(lambda: library.index(request))
    full_index = library.index(IndexRequest(max_characters=10**9))
    figures["characters, whole"] = len(full_index)
    figures["characters, in the prompt"] = len(library.index(request))
    return figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=7)
    arguments = parser.parse_args()
    for count in COUNTS:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name, "skills")
            make_skills(folder, count)
            measure(folder, Path(name, "snapshot.json"))  # warms the disk cache, imports YAML
            runs = [measure(folder, Path(name, "snapshot.json")) for _ in range(arguments.runs)]
        print(f"\n{count} skills")
        unit = statistics.median(run["one stat of each"] for run in runs)
        for figure in runs[0]:
            _print(figure, [run[figure] for run in runs], unit)


def _print(figure: str, values: list[float], unit: float) -> None:
    median = statistics.median(values)
    if figure.startswith("characters"):
        print(f"  {figure:26} {median:10.0f}")
        return
    spread = (max(values) - min(values)) / 2
    print(f"  {figure:26} {median:10.3f} ms  ± {spread:8.3f}  {median / unit:8.1f} x stat")


if __name__ == "__main__":
    main()

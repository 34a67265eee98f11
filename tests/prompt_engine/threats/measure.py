"""Measures the scan on collections of texts that are not part of the project.

`python -m tests.prompt_engine.threats.measure attacks.jsonl files.jsonl` reads objects with the
keys `kind` and `text`, one a line, and prints a row a kind: number, blocked, blocked or marked.
With `--found` or `--missed` it names the texts, which are then no longer unseen.
"""

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, TypedDict, cast

from prompt_engine.threats import scan

Outcome = Literal["blocked", "marked", "clean"]


class Sample(TypedDict):
    """A text of a collection; `kind` is the row of the table that it counts in."""

    kind: str
    text: str


def outcome_of(text: str) -> Outcome:
    """Return what happens to an instruction file with this text."""
    findings = scan(text, "mark")
    if not findings:
        return "clean"
    return "marked" if all(each.is_mark for each in findings) else "blocked"


def read_samples(paths: Sequence[Path]) -> Iterator[Sample]:
    """Yield the samples of JSON Lines files."""
    for path in paths:
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                yield cast("Sample", json.loads(line))


def table(samples: Sequence[Sample]) -> Iterator[str]:
    """Yield the rows of a Markdown table, the last one for all kinds together."""
    counts: defaultdict[str, Counter[Outcome]] = defaultdict(Counter)
    for sample in samples:
        outcome = outcome_of(sample["text"])
        counts[sample["kind"]][outcome] += 1
        counts["all"][outcome] += 1
    yield "| kind | number | blocked | blocked or marked |"
    yield "| --- | --- | --- | --- |"
    for kind in sorted(counts, key=lambda kind: (kind == "all", kind)):
        found = counts[kind]["blocked"] + counts[kind]["marked"]
        number = counts[kind].total()
        yield f"| {kind} | {number} | {counts[kind]['blocked']} | {found} ({found / number:.0%}) |"


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description="Measure the threat scan on texts of others.")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--found", action="store_true", help="print what was found")
    parser.add_argument("--missed", action="store_true", help="print what was not found")
    options = parser.parse_args()
    samples = list(read_samples(options.files))
    for sample in samples:
        is_clean = outcome_of(sample["text"]) == "clean"
        if options.missed if is_clean else options.found:
            patterns = ", ".join(sorted({each.pattern for each in scan(sample["text"], "mark")}))
            print(f"{sample['kind']}: {patterns or 'missed'}: {sample['text'][:300]!r}")  # noqa: T201  # a command of its own
    print("\n".join(table(samples)))  # noqa: T201  # a command of its own


if __name__ == "__main__":
    main()

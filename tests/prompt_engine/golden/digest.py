"""Prints digests of all golden prompts and of a directory snapshot, run as a subprocess."""

import hashlib
import sys
from pathlib import Path

from prompt_engine.assemble import build_prompt
from prompt_engine.sources.workspace_snapshot import read_workspace
from prompt_engine.threats import scan
from tests.prompt_engine.golden.situations import SITUATIONS


def main() -> None:
    prompts = [build_prompt(facts).text for facts in SITUATIONS.values()]
    snapshot = repr(read_workspace(Path(sys.argv[1]), {"PATH": ""}, scan))
    texts = [*prompts, snapshot.replace(sys.argv[1], "FOLDER")]
    for text in texts:
        sys.stdout.write(hashlib.sha256(text.encode()).hexdigest() + "\n")


if __name__ == "__main__":
    main()

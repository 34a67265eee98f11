"""The same targets, led by what an input reaches, with atheris, which is installed for this alone.

    uv run --with atheris python -m tests.fuzz.guided --seconds 60 shell

What fails is kept in the corpus, and ends the process. What reaches something new is kept beside
it, in `.reached`, for the next time.
"""

import argparse
import importlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, cast

from tests.fuzz.corpus import CORPUS
from tests.fuzz.mutation import MOST_BYTES

SUBJECTS = ["acp_server", "prompt_engine", "skills_store"]


class Atheris(Protocol):
    """What is used of the library."""

    def instrument_imports(self, include: Sequence[str]) -> AbstractContextManager[None]: ...

    def Setup(self, argv: Sequence[str], target: Callable[[bytes], None]) -> object: ...  # noqa: N802

    def Fuzz(self) -> None: ...  # noqa: N802


def main() -> None:
    """Try inputs for a time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target")
    parser.add_argument("--seconds", type=int, default=60)
    given = parser.parse_args()
    atheris = cast("Atheris", importlib.import_module("atheris"))
    with atheris.instrument_imports(include=SUBJECTS):
        module = importlib.import_module("tests.fuzz.targets")
    targets = cast("Mapping[str, Callable[[bytes], None]]", module.TARGETS)
    kept, reached = CORPUS / given.target, CORPUS.with_name(".reached") / given.target
    reached.mkdir(parents=True, exist_ok=True)
    options = [f"-max_total_time={given.seconds}", f"-max_len={MOST_BYTES}", "-timeout=10"]
    places = [f"-artifact_prefix={kept}/found-", str(reached), str(kept)]
    atheris.Setup(["fuzz", *options, *places], targets[given.target])
    atheris.Fuzz()


if __name__ == "__main__":
    main()

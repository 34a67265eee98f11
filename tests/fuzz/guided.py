"""Coverage-guided fuzzing of the same targets with atheris, installed only for this.

    uv run --with atheris python -m tests.fuzz.guided --seconds 60 shell

A failing input is saved in the corpus and ends the process. Inputs that reach new code are saved
in `.reached` for the next run.
"""

import argparse
import importlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, cast

from tests.fuzz.corpus import CORPUS
from tests.fuzz.mutation import MAX_BYTES

INSTRUMENTED_PACKAGES = ["acp_server", "prompt_engine", "skills_store"]


class AtherisModule(Protocol):
    """Used part of the library's interface."""

    def instrument_imports(self, include: Sequence[str]) -> AbstractContextManager[None]: ...

    def Setup(self, argv: Sequence[str], target: Callable[[bytes], None]) -> object: ...  # noqa: N802

    def Fuzz(self) -> None: ...  # noqa: N802


def main() -> None:
    """Fuzz for a limited time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target")
    parser.add_argument("--seconds", type=int, default=60)
    arguments = parser.parse_args()
    atheris = cast("AtherisModule", importlib.import_module("atheris"))
    with atheris.instrument_imports(include=INSTRUMENTED_PACKAGES):
        module = importlib.import_module("tests.fuzz.targets")
    targets = cast("Mapping[str, Callable[[bytes], None]]", module.TARGETS)
    corpus, reached_dir = CORPUS / arguments.target, CORPUS.with_name(".reached") / arguments.target
    reached_dir.mkdir(parents=True, exist_ok=True)
    options = [f"-max_total_time={arguments.seconds}", f"-max_len={MAX_BYTES}", "-timeout=10"]
    directories = [f"-artifact_prefix={corpus}/found-", str(reached_dir), str(corpus)]
    atheris.Setup(["fuzz", *options, *directories], targets[arguments.target])
    atheris.Fuzz()


if __name__ == "__main__":
    main()

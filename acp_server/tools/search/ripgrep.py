"""The ripgrep process: binary, fixed arguments and lifecycle.

Owns one run from start to kill, independent of the query. Security: the child gets neither our
environment nor our stdin, reads no configuration file and starts no other program.
"""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Final

import anyio
from anyio import lowlevel, to_thread
from anyio.abc import ByteReceiveStream

from acp_server.startup.fast_dataclass import frozen_dataclass
from acp_server.tools.search.query import SearchError
from acp_server.tools.search.search_root import SearchRoot
from skills_store.programs import find_program

RIPGREP_ENVIRONMENT: Final[Mapping[str, str]] = {
    "PATH": os.defpath,
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
}

# Hidden files are searched: workflows, linter settings and .env.example are part of the code.
# .git is not: it holds the same texts again, compressed, and none of its files should be edited.
# The user's global ignore file is not read, so that the same tree gives the same result everywhere.
# --no-mmap: a mapped file that shrinks during the search would kill the process with SIGBUS.
BASE_ARGUMENTS: Final = (
    "--no-config",
    "--color=never",
    "--no-messages",
    "--no-ignore-messages",
    "--no-mmap",
    "--no-follow",
    "--hidden",
    "--no-require-git",
    "--no-ignore-global",
    "--path-separator=/",
    "--null",
    "--glob=!.git",
)

_CHUNK_BYTES = 256 * 1024

ChunkCallback = Callable[[bytes], bool]


@frozen_dataclass
class RipgrepResult:
    """Result of a run: `error_text` is its stderr, if that was read completely."""

    error_text: str = ""
    is_complete: bool = False
    has_timed_out: bool = False


@cache
def find_ripgrep(program_free_roots: tuple[Path, ...]) -> Path:
    """Return the ripgrep binary: the one installed with this package, else the first on PATH.

    Entries of PATH inside of `program_free_roots` are skipped: those of the workspace.

    Raises:
        SearchError: There is none.
    """
    own_directories = os.pathsep.join(
        (sysconfig.get_path("scripts"), str(Path(sys.executable).parent))
    )
    for search_path, outside in ((own_directories, ()), (None, program_free_roots)):
        found = find_program("rg", search_path, outside=outside)
        if found is not None:
            return Path(found)
    raise SearchError("ripgrep is missing: install it with `pip install ripgrep`")


async def run_ripgrep(
    arguments: Sequence[str], search_root: SearchRoot, feed: ChunkCallback, timeout_seconds: float
) -> RipgrepResult:
    """Run ripgrep and feed its output until it ends, `feed` returns False, or time is up.

    The process has ended when this returns or is cancelled.

    Raises:
        SearchError: ripgrep cannot be started.
    """
    program = str(await to_thread.run_sync(find_ripgrep, search_root.program_free_roots))
    command = [*search_root.launcher, program, *BASE_ARGUMENTS, *arguments]
    try:
        process = await anyio.open_process(
            command, stdin=subprocess.DEVNULL, cwd=search_root.cwd, env=RIPGREP_ENVIRONMENT
        )
    except (OSError, ValueError) as error:
        raise SearchError(f"ripgrep cannot be started: {error}") from error
    async with process:
        result = RipgrepResult()
        try:
            with anyio.move_on_after(timeout_seconds) as timeout_scope:
                if await _drain(process.stdout, feed):
                    # `--no-messages` keeps stderr too short to fill its pipe.
                    stderr = bytearray()
                    await _drain(process.stderr, lambda chunk: stderr.extend(chunk) is None)
                    result = RipgrepResult(stderr.decode("utf-8", "replace"), is_complete=True)
            if timeout_scope.cancelled_caught:
                result = RipgrepResult(has_timed_out=True)
        finally:
            if not result.is_complete:  # after both pipes' end it exits by itself
                with suppress(ProcessLookupError):
                    process.kill()
        return result


async def _drain(stream: ByteReceiveStream | None, feed: ChunkCallback) -> bool:
    """Read a stream to its end; return False if `feed` stopped it."""
    with suppress(anyio.EndOfStream):
        while stream is not None:
            # Buffered data is received without suspending; stay cancellable and share the loop.
            await lowlevel.checkpoint()
            if not feed(await stream.receive(_CHUNK_BYTES)):
                return False
    return True

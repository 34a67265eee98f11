"""Writes the file of `code_store`, once a server is ready: later starts use it.

All of it comes from this process: the bytecode that Python has stored for the imported modules, and
everything that was compiled since the start.
"""

import logging
import marshal
import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from dis import hasconst
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import MAGIC_NUMBER, source_hash
from inspect import CO_NEWLOCALS
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING

from acp_server.startup.code_store import (
    LENGTH_BYTES,
    PREFIX,
    SUFFIX,
    UNREADABLE,
    CodeStore,
    make_pattern,
    pattern_parts,
)
from skills_store.atomic import write_atomically

if TYPE_CHECKING:
    from acp_server.startup.code_store import ModuleEntry, PatternKey

logger = logging.getLogger(__name__)

PYC_HEADER_BYTES = 16
HELP_PACKAGE = "acp_server.cli"
"""Its docstrings are the help texts of commands."""
_HAS_DOCSTRING = 0x4000000
"""Flag of functions with a docstring, from Python 3.13 on (`inspect.CO_HAS_DOCSTRING`)."""
FILE_MODE = 0o644
MAX_FILES = 3
"""Environments that share this package, as those of a checkout do."""
SMALL_SHARE = 0.05
"""Modules that may be missing: a turn with another provider or editor imports other ones."""


def write_code_store(store: CodeStore) -> None:
    """Write the code that the next start needs, if it is not stored; then close the store."""
    try:
        if store.may_write:
            _write_if_needed(store)
    except UNREADABLE as error:  # also what `marshal` cannot write
        logger.debug("the code of a first turn was not stored: %s", error)
    finally:
        store.close()


def _write_if_needed(store: CodeStore) -> None:
    imported = {
        name: file
        for name, module in [*sys.modules.items()]
        if (file := _source_file(name, module)) is not None
    }
    missing = imported.keys() - store.modules.keys() - store.imported_before
    compiled = len(store.new_codes) + len(store.new_patterns)
    if store.is_current and len(missing) + compiled <= SMALL_SHARE * len(imported):
        return
    entries = dict[str, "ModuleEntry"]()
    codes = list[bytes]()
    length = 0
    for name, (source, is_package) in imported.items():
        status = os.stat(source)  # noqa: PTH116  a thousand of them
        code = _stored_bytecode(source, status)
        if code is not None:
            if not name.startswith(HELP_PACKAGE):
                code = without_docstrings(code)
            entry = (source, is_package, status.st_mtime_ns, status.st_size, length, len(code))
            entries[name] = entry
            codes.append(code)
            length += len(code)
    if entries:
        _write(store, entries, b"".join(codes))
        _remove_old_files(Path(store.directory))


def _source_file(name: str, module: object) -> tuple[str, bool] | None:
    """Return the source of a module that was loaded from one, and whether it is a package."""
    spec: object = getattr(module, "__spec__", None)
    if not isinstance(spec, ModuleSpec) or not isinstance(spec.loader, SourceFileLoader):
        return None
    if spec.name != name or spec.origin is None:
        return None
    return spec.origin, spec.submodule_search_locations is not None


def without_docstrings(bytecode: bytes) -> bytes:
    """Return a module's bytecode without the docstrings of its functions.

    They are a tenth of the memory of all code, and a server shows none. Those of classes stay:
    pydantic and dataclasses look at them.
    """
    code: object = marshal.loads(bytecode)  # noqa: S302  what Python itself has written
    return marshal.dumps(_strip_functions(code)) if isinstance(code, CodeType) else bytecode


def _strip_functions(code: CodeType) -> CodeType:
    constants = [
        _strip_functions(each) if isinstance(each, CodeType) else each for each in code.co_consts
    ]
    flags = code.co_flags
    if _has_docstring(code):
        constants[0] = None
        flags &= ~_HAS_DOCSTRING
    return code.replace(co_consts=tuple(constants), co_flags=flags)


def _has_docstring(code: CodeType) -> bool:
    """Return whether the first constant is a docstring and nothing else."""
    is_function = bool(code.co_flags & CO_NEWLOCALS) and not code.co_name.startswith("<")
    if not is_function or not code.co_consts or not isinstance(code.co_consts[0], str):
        return False
    if sys.version_info >= (3, 13) and not code.co_flags & _HAS_DOCSTRING:
        return False
    instructions = zip(code.co_code[::2], code.co_code[1::2], strict=True)
    return not any(argument == 0 and operation in hasconst for operation, argument in instructions)


def _stored_bytecode(source: str, status: os.stat_result) -> bytes | None:
    """Return the bytecode that Python has stored for a source; None if it does not fit."""
    folder, name = os.path.split(source)
    tag = sys.implementation.cache_tag
    path = Path(folder, "__pycache__", f"{name.removesuffix('.py')}.{tag}.pyc")
    with suppress(OSError):
        data = path.read_bytes()
        expected = (0, int(status.st_mtime) & 0xFFFFFFFF, status.st_size & 0xFFFFFFFF)
        numbers = (data[4:8], data[8:12], data[12:PYC_HEADER_BYTES])
        found = tuple(int.from_bytes(number, "little") for number in numbers)
        if data[:4] == MAGIC_NUMBER and found == expected:
            return data[PYC_HEADER_BYTES:]
    return None


def _write(store: CodeStore, entries: Mapping[str, "ModuleEntry"], code: bytes) -> None:
    _, codes, patterns, _ = store.read()
    codes.update({key: marshal.dumps(code) for key, code in [*store.new_codes.items()]})
    patterns.update(_encode_patterns(store.new_patterns))
    # Offsets are counted from the end of the index, whose length is not known before.
    index = marshal.dumps((dict(entries), codes, patterns, store.passed))
    digest = source_hash(index)
    data = b"".join((digest, len(index).to_bytes(LENGTH_BYTES, "little"), index, code))
    write_atomically(Path(store.path), data, FILE_MODE)


def _encode_patterns(
    patterns: Mapping["PatternKey", re.Pattern[str]],
) -> dict["PatternKey", bytes]:
    """Return the parts of those patterns that can be made from them again."""
    found = dict["PatternKey", bytes]()
    for (text, flags), pattern in [*patterns.items()]:
        parts = pattern_parts(text, flags)
        if parts is not None and make_pattern(text, parts) == pattern:
            found[text, flags] = marshal.dumps(parts)
    return found


def _remove_old_files(directory: Path) -> None:
    files = [*directory.glob(f"{PREFIX}*{SUFFIX}")]
    files.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in files[MAX_FILES:]:
        path.unlink(missing_ok=True)

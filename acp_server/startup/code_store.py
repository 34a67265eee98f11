"""One file with all bytecode of a first turn, to read instead of a thousand.

A start imports 1,400 modules. Python looks each up in several directories, then reads and checks a
file of bytecode for it. Here one file has the bytecode of all of them; one `stat` of each source is
left. The same file keeps the code of generated functions (dataclasses, named tuples) and the parsed
form of regular expressions.

The file is in the bytecode directory of this package: whoever can write it can also write this
program. It is valid for one interpreter, one import path and unchanged sources. Everything else is
imported from where Python finds it: slower, never broken. `code_store_writer` makes the file.
Imports only what an interpreter with `-m` and `json` has imported already.
"""

from __future__ import annotations

import builtins
import marshal
import os
import re
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import source_hash
from types import CodeType

TYPE_CHECKING = False  # typing itself is not imported
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType
    from typing import Protocol, TypeAlias, cast

    class _State(Protocol):
        groups: int
        groupdict: dict[str, int]
        flags: int

    class _Tree(Protocol):
        state: _State

    ModuleEntry: TypeAlias = tuple[str, bool, int, int, int, int]
    """Source, whether it is a package, its time of change and size; place in the file, length."""
    CodeKey: TypeAlias = tuple[str, str]
    """`exec` or `eval`, and the text."""
    PatternKey: TypeAlias = tuple[str, int]
    PatternParts: TypeAlias = tuple[int, list[int], int, dict[str, int], tuple[str | None, ...]]
    """The arguments of `_sre.compile` besides the pattern."""
    Index: TypeAlias = tuple[
        dict[str, ModuleEntry], dict[CodeKey, bytes], dict[PatternKey, bytes], set[str]
    ]
    """Modules, codes, patterns and passed checks. Codes and patterns are encoded: they take less
    memory so."""

else:

    def cast(kind: str, value: object) -> object:
        """Stand in for `typing.cast`."""
        del kind
        return value


DIRECTORY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "__pycache__")
PREFIX, SUFFIX = "first-turn-", ".code"
DIGEST_BYTES = LENGTH_BYTES = 8
OWN_WRITERS_ONLY = 0o022
GENERATING_MODULES = ("collections", "dataclasses", "acp_server.startup.fast_dataclass")
"""Modules that compile texts of functions, with `exec` or `eval`."""
UNREADABLE = (OSError, EOFError, ValueError, TypeError, KeyError)
"""Errors of reading a file that is damaged or was made by another program, and of writing one."""


class CodeStore:
    """The stored code of this interpreter, in use from `open` to `close`."""

    def __init__(self, directory: str = DIRECTORY) -> None:
        self.directory = directory
        self._import_path = [*sys.path]
        self.is_complete = "acp_server.server.app" not in sys.modules
        """Whether this process has compiled after `open` all that a start compiles."""
        self.modules: Mapping[str, ModuleEntry] = {}
        self.imported_before = frozenset(sys.modules)
        """Modules that this store can be of no use for."""
        self.is_current = False
        """Whether a file was read, and no source that was asked for has changed since."""
        self.passed: set[str] = set()
        """Names of checks that this code has passed, in this process or when it was stored."""
        self.new_codes: dict[CodeKey, CodeType] = {}
        self.new_patterns: dict[PatternKey, re.Pattern[str]] = {}
        self._codes: dict[CodeKey, bytes] = {}
        self._patterns: dict[PatternKey, bytes] = {}
        self._descriptor = -1
        self._codes_start = 0
        self._compile_plainly: Callable[[object, int], re.Pattern[str]] | None = None

    @property
    def path(self) -> str:
        """The file for this interpreter and the packages that are installed now.

        A directory of the import path changes with each package.
        """
        changes = list[int]()
        for entry in self._import_path:
            try:
                changes.append(os.stat(entry).st_mtime_ns)
            except OSError:
                changes.append(0)
        environment = repr((sys.version, sys.flags, self._import_path, changes))
        name = source_hash(environment.encode()).hex()
        return os.path.join(self.directory, f"{PREFIX}{name}{SUFFIX}")

    def open(self) -> None:
        """Use the stored code, and keep all that is compiled meanwhile."""
        self.modules, self._codes, self._patterns, self.passed = self.read()
        self.is_current = bool(self.modules)
        sys.meta_path = [self, *sys.meta_path]
        _in_use.append(self)
        import_module("inspect")
        self._use_patterns()
        for name in GENERATING_MODULES:
            self._use_codes(vars(import_module(name)))

    def close(self) -> None:
        """Leave imports and the standard library as they were; forget the stored code."""
        sys.meta_path = [each for each in sys.meta_path if each is not self]
        for name in GENERATING_MODULES:
            for function in ("exec", "eval"):
                sys.modules[name].__dict__.pop(function, None)
        if self._compile_plainly is not None:
            _pattern_compiler()["compile"] = self._compile_plainly
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        self.modules, self._codes, self._patterns = {}, {}, {}
        self.new_codes, self.new_patterns = {}, {}
        _in_use.remove(self)

    @property
    def may_write(self) -> bool:
        """Whether Python may write bytecode here, and this process has all that a start needs."""
        is_allowed = not sys.dont_write_bytecode and os.access(self.directory, os.W_OK)
        return is_allowed and self.is_complete

    def read(self) -> Index:
        """Return the index of the file; an empty one if there is no file that fits."""
        try:
            return self._read()
        except UNREADABLE:
            return {}, {}, {}, set()

    def _read(self) -> Index:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        path = self.path
        self._descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        status = os.fstat(self._descriptor)
        if status.st_uid not in (0, os.geteuid()) or status.st_mode & OWN_WRITERS_ONLY:
            raise ValueError(path)
        head = os.pread(self._descriptor, DIGEST_BYTES + LENGTH_BYTES, 0)
        length = int.from_bytes(head[DIGEST_BYTES:], "little")
        data = os.pread(self._descriptor, length, len(head))
        if len(data) != length or source_hash(data) != head[:DIGEST_BYTES]:
            raise ValueError(path)
        index: Index = marshal.loads(data)
        self._codes_start = len(head) + length
        return index

    # Imports: the methods of a finder.

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the spec of a stored module whose source has not changed."""
        del target
        entry = self.modules.get(name)
        if entry is None:
            return None
        source, is_package, changed_at, size, _, _ = entry
        folder = os.path.dirname(source)
        parent = os.path.dirname(folder) if is_package else folder
        if path is not None and next(iter(path), None) != parent:
            return None
        try:
            status = os.stat(source)
        except OSError:
            return None
        if (status.st_mtime_ns, status.st_size) != (changed_at, size):
            self.is_current = False
            return None
        spec = ModuleSpec(name, _StoredLoader(name, source, self), origin=source)
        spec.has_location = True
        if is_package:
            spec.submodule_search_locations = [folder]
        return spec

    def stored_code(self, name: str) -> CodeType | None:
        """Return the code of a stored module; None if it cannot be read."""
        try:
            _, _, _, _, offset, length = self.modules[name]
            data = os.pread(self._descriptor, length, self._codes_start + offset)
            code: object = marshal.loads(data)
        except UNREADABLE:
            return None
        return code if isinstance(code, CodeType) else None

    # Texts of functions

    def _use_codes(self, names: dict[str, object]) -> None:
        def compiled(function: str, text: str | CodeType) -> CodeType:
            if isinstance(text, CodeType):
                return text
            stored = self._codes.get((function, text))
            if stored is not None:
                return marshal.loads(stored)
            code = compile(text, "<string>", function, dont_inherit=True)
            self.new_codes[function, text] = code
            return code

        def run(
            text: str | CodeType,
            global_names: dict[str, object] | None = None,
            local_names: dict[str, object] | None = None,
        ) -> None:
            scope = names if global_names is None else global_names
            builtins.exec(compiled("exec", text), scope, local_names)  # noqa: S102

        def evaluate(text: str | CodeType, global_names: dict[str, object]) -> object:
            return builtins.eval(compiled("eval", text), global_names)  # noqa: S307

        names["exec"], names["eval"] = run, evaluate

    # Regular expressions

    def _use_patterns(self) -> None:
        if "re._compiler" not in sys.modules:
            return
        compiler = _pattern_compiler()
        plain = cast("Callable[[object, int], re.Pattern[str]]", compiler["compile"])
        if pattern_parts("(a)|b", 0) is None:
            return

        def compile_pattern(pattern: object, flags: int = 0) -> re.Pattern[str]:
            if type(pattern) is not str:
                return plain(pattern, flags)
            flags = int(
                flags
            )  # Python 3.13 passes an integer of another type, which cannot be stored
            stored = self._patterns.get((pattern, flags))
            if stored is not None:
                return make_pattern(pattern, marshal.loads(stored))
            compiled = plain(pattern, flags)
            if _is_within_import():
                self.new_patterns[pattern, flags] = compiled
            return compiled

        self._compile_plainly = plain
        compiler["compile"] = compile_pattern


_in_use = list[CodeStore]()


def check_once(name: str, check: Callable[[], object]) -> None:
    """Run a check of the imported code, unless exactly this code has passed it before.

    Its result must depend on that code alone.
    """
    if any(store.is_current and name in store.passed for store in _in_use):
        return
    check()
    for store in _in_use:
        store.passed.add(name)


class _StoredLoader(SourceFileLoader):
    """Loads a module's stored code, and everything else as Python does."""

    def __init__(self, name: str, path: str, store: CodeStore) -> None:
        super().__init__(name, path)
        self._store = store

    def get_code(self, fullname: str) -> CodeType | None:
        return self._store.stored_code(fullname) or super().get_code(fullname)


def _pattern_compiler() -> dict[str, object]:
    """Return the names of the module that compiles regular expressions."""
    return vars(sys.modules["re._compiler"])


def make_pattern(text: str, parts: PatternParts) -> re.Pattern[str]:
    """Return the pattern of a parsed text."""
    make = vars(_pattern_compiler()["_sre"])["compile"]
    return cast("Callable[..., re.Pattern[str]]", make)(text, *parts)


def pattern_parts(text: str, flags: int) -> PatternParts | None:
    """Return a parsed text, as `re` itself does; None if this Python does it in another way."""
    compiler = _pattern_compiler()
    try:
        parse = cast("Callable[[str, int], _Tree]", vars(compiler["_parser"])["parse"])
        encode = cast("Callable[[_Tree, int], Sequence[int]]", compiler["_code"])
        tree = parse(text, flags)
        state = tree.state
        names = dict(state.groupdict)
        groups: list[str | None] = [None] * state.groups
        for name, number in names.items():
            groups[number] = name
        code = [*map(int, encode(tree, flags))]
        return int(flags | state.flags), code, state.groups - 1, names, tuple(groups)
    except (KeyError, AttributeError, TypeError):
        return None


def _is_within_import() -> bool:
    """Return whether a module is being imported: its patterns are constants of a program."""
    from inspect import currentframe  # imported by `open`

    frame = currentframe()
    while frame is not None:
        if frame.f_code.co_name == "<module>":
            return frame.f_globals.get("__name__") != "__main__"
        frame = frame.f_back
    return False

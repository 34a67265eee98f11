"""The source files of the packages, each read, parsed and walked once for all tests of a worker."""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("acp_server", "prompt_engine", "skills_store")

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
Import = ast.Import | ast.ImportFrom


@dataclass(frozen=True, slots=True)
class SourceFile:
    """Parsed source file, with the nodes that several tests look for."""

    name: str
    """Path below the root, with slashes."""
    tree: ast.Module
    definitions: Sequence[Definition]
    """Classes and functions at any depth."""
    imports: Sequence[Import]
    """Imports at any depth."""
    stored_names: frozenset[str]
    """Names of variables that are assigned anywhere."""

    @property
    def module(self) -> str:
        """Dotted name of the module; a package's is that of its directory."""
        return self.name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def read_text(path: Path) -> str:
    """Return the text of a source file."""
    return path.read_text(encoding="utf-8")


@cache
def source_paths() -> Sequence[Path]:
    """Return the paths of all modules of the packages, sorted in each package."""
    return [path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))]


def path_name(path: Path) -> str:
    """Return the path as tests write it: below the root, with slashes."""
    return path.relative_to(ROOT).as_posix()


@cache
def source_files() -> Sequence[SourceFile]:
    """Return all modules of the packages, parsed."""
    return [_parse(path) for path in source_paths()]


def _parse(path: Path) -> SourceFile:
    tree = ast.parse(read_text(path))
    definitions: list[Definition] = []
    imports: list[Import] = []
    stored: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                definitions.append(node)
            case ast.Import() | ast.ImportFrom():
                imports.append(node)
            case ast.Name(ctx=ast.Store()):
                stored.add(node.id)
            case _:
                pass
    return SourceFile(path_name(path), tree, definitions, imports, frozenset(stored))


def imported_modules(file: SourceFile) -> Iterator[str]:
    """Yield the modules that a file imports anywhere, as they are written."""
    for node in file.imports:
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif node.module:
            yield node.module

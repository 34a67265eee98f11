"""Changes that a new release of a dependency may bring, made in copies of the installed packages.

The copies go first on a server's path. A copy is a directory of links in which only edited files
are real: it costs no time, and modules that did not change come with their bytecode.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from importlib.util import find_spec
from pathlib import Path

from tests.support.user_texts import NOTHING_CHANGED

Edit = Callable[[str], str]
"""Returns the new text of a file from its old text; a file that does not exist has none."""


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a dependency."""

    edits: Mapping[str, Edit | None]
    """By file, relative to the directory that holds the packages; None removes the file."""
    warning: str = ""
    """How the only line on stderr goes on after the logger; empty if there is no line."""

    def write(self, folder: Path) -> None:
        """Write the changed copies into a directory."""
        for name, edit in self.edits.items():
            source, target = installed(name), folder / name
            _make_copies_of_parents(name, folder)
            text = edit(_read(name)) if edit else None
            target.unlink(missing_ok=True)
            if text is not None:
                assert text != (_read(name) if source.exists() else None), NOTHING_CHANGED
                target.write_text(text, encoding="utf-8")


def installed(name: str) -> Path:
    """Return the path of a file of an installed package; it need not exist."""
    package, _, rest = name.partition("/")
    spec = find_spec(package.removesuffix(".py"))
    origin = Path(spec.origin) if spec and spec.origin else Path("/nowhere")
    return origin.parent / rest if rest else origin


def _read(name: str) -> str:
    source = installed(name)
    return source.read_text(encoding="utf-8") if source.exists() else ""


def _make_copies_of_parents(name: str, folder: Path) -> None:
    """Make the directories of a file real, each with links to its other entries."""
    for parent in reversed(Path(name).parents[:-1]):
        copy, original = folder / parent, installed(f"{parent}/__init__.py").parent
        if copy.is_symlink():
            copy.unlink()
        elif copy.exists():
            continue
        copy.mkdir()
        for entry in original.iterdir() if original.exists() else ():
            (copy / entry.name).symlink_to(entry)


def _append(*lines: str) -> Edit:
    return lambda text: "\n".join((text, *lines, ""))


def _replace(*changes: tuple[str, str]) -> Edit:
    """Return an edit that replaces whatever matches these expressions."""
    return lambda text: reduce(
        lambda before, change: re.sub(*change, before, flags=re.MULTILINE), changes, text
    )


def _write(text: str) -> Edit:
    return lambda _: text


def _check_requests(*lines: str, check: str) -> Edit:
    """Return an edit of the SDK's client that runs a statement before each request."""
    return _append(
        *lines,
        "_prepare_options = AsyncAnthropic._prepare_options",
        "async def _check_and_prepare_options(self, options):",
        f"    {check}",
        "    return await _prepare_options(self, options)",
        "AsyncAnthropic._prepare_options = _check_and_prepare_options",
    )


def _move_client() -> Mapping[str, Edit | None]:
    """Return the edits that rename the module of the SDK's clients, wherever it is imported."""
    edits: dict[str, Edit | None] = {
        _CLIENT: None,
        "anthropic/_clients.py": _write(_read(_CLIENT)),
    }
    sdk = installed("anthropic/__init__.py").parent
    for file in (*sdk.glob("*.py"), *sdk.glob("lib/**/*.py")):
        levels = len(file.relative_to(sdk).parts)
        statement = rf"^(\s*from \.{{{levels}}}_client)( import)"
        if re.search(statement, file.read_text(encoding="utf-8"), flags=re.MULTILINE):
            edits[f"anthropic/{file.relative_to(sdk)}"] = _replace((statement, r"\1s\2"))
    return edits


_CLIENT = "anthropic/_client.py"
SDK = "the fast import of the Messages API's SDK"
PLUGINS = "pydantic without plug-ins"
TYPED_DICTS = "light typed dictionaries"
LATE_MODELS = "late models"
DATACLASSES = "fast dataclasses"
DISPATCHER = "parts of jsonrpcserver"
COLLECTOR = "the pause of garbage collection"
WATCH_IMPORT = "the lazy import of watchfiles"
WATCH = "directories cannot be watched"
_SDK_TYPES = ("from .types import TextBlock, Usage", "from pydantic import TypeAdapter")
_LOADER = "pydantic/plugin/_loader.py"
_VALIDATOR = "pydantic/plugin/_schema_validator.py"
_CORE_SCHEMA = "pydantic_core/core_schema.py"
_METACLASS = "pydantic/_internal/_model_construction.py"
_DISPATCHER = "jsonrpcserver/dispatcher.py"
_RESPONSE = "jsonrpcserver/response.py"
_RUST = next((each.name for each in installed("watchfiles/_").parent.glob("_rust_notify.*so")), "")
_LOAD_RUST = f"""
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_loader
_loader = ExtensionFileLoader("_rust_notify", {str(installed("watchfiles/" + _RUST))!r})
_module = module_from_spec(spec_from_loader("_rust_notify", _loader))
_loader.exec_module(_module)
_RustNotify = _module.RustNotify
"""

SDK_CHANGES = {
    "client-moved": Change(_move_client(), SDK),
    "types-moved": Change(
        {
            "anthropic/types/__init__.py": _write("from ..shapes import *"),
            "anthropic/shapes.py": _write(
                re.sub(
                    r"^from \.", "from .types.", _read("anthropic/types/__init__.py"), flags=re.M
                )
            ),
        }
    ),
    "type-adapter-at-import": Change(
        {_CLIENT: _append(*_SDK_TYPES, "TypeAdapter(TextBlock | Usage).rebuild()")}, SDK
    ),
    "instance-at-import": Change(
        {_CLIENT: _append(*_SDK_TYPES, "ZERO = Usage(input_tokens=0, output_tokens=0)")}, SDK
    ),
    "class-used-at-import": Change(
        {_CLIENT: _append(*_SDK_TYPES, "assert issubclass(Usage, object)")}, SDK
    ),
    "type-adapter-in-a-request": Change(
        {_CLIENT: _check_requests(*_SDK_TYPES, check="TypeAdapter(list[TextBlock] | Usage)")}, SDK
    ),
    "type-compared-in-a-request": Change(
        {
            _CLIENT: _check_requests(
                *_SDK_TYPES, check="from .types.usage import Usage as Same; assert Same is Usage"
            )
        },
        SDK,
    ),
    "package-prepares-its-client": Change(
        {
            _CLIENT: _check_requests(check="AsyncAnthropic.is_prepared"),
            "anthropic/__init__.py": _append("AsyncAnthropic.is_prepared = True"),
        },
        SDK,
    ),
    "other-metadata-asked-for": Change(
        {
            "httpcore2/__init__.py": _replace((r'^__version__ = version\("httpcore2"\)', "")),
            "httpx2/__version__.py": _append("from importlib.metadata import metadata"),
        }
    ),
    "package-exports-by-a-star": Change(
        {
            _CLIENT: _append("globals().pop('__all__', None)"),
            "anthropic/__init__.py": _replace(
                (r"^from \._client import .*$", "from ._client import *")
            ),
        }
    ),
}
"""Changes of the SDK of the Messages API."""

PYDANTIC_CHANGES = {
    "one-more-name-of-the-plugin-loader": Change(
        {
            _LOADER: _append("def plugin_names(): return list(_plugins or ())"),
            _VALIDATOR: _replace(
                (r"from \._loader import get_plugins", r"\g<0>, plugin_names; plugin_names()")
            ),
        },
        PLUGINS,
    ),
    "plugin-loader-moved": Change(
        {
            _LOADER: None,
            "pydantic/plugin/_finder.py": _write(_read(_LOADER)),
            _VALIDATOR: _replace((r"\._loader", "._finder")),
        },
        PLUGINS,
    ),
    "plugin-loader-imported-early": Change(
        {"pydantic/plugin/__init__.py": _append("from ._loader import get_plugins")}
    ),
    "plugins-by-name": Change(
        {
            _LOADER: _replace((r"_plugins\.values\(\)", "_plugins"), (r"return \(\)", "return {}")),
            _VALIDATOR: _replace((r"= get_plugins\(\)", r"\g<0>.values()")),
        },
        PLUGINS,
    ),
    "plugin-loader-takes-an-argument": Change(
        {
            _LOADER: _replace((r"def get_plugins\(\)", "def get_plugins(kind)")),
            _VALIDATOR: _replace((r"= get_plugins\(\)", "= get_plugins('validator')")),
        },
        PLUGINS,
    ),
}
"""Changes of how pydantic loads plug-ins."""

TYPED_DICT_CHANGES = {
    "typed-dictionary-made-by-a-call": Change(
        {_CORE_SCHEMA: _append("Extra = TypedDict('Extra', {'number': int})")}, TYPED_DICTS
    ),
    "fields-asked-at-import": Change(
        {_CORE_SCHEMA: _append("FIELDS = CoreConfig.__optional_keys__")}, TYPED_DICTS
    ),
    "schemas-read-the-fields": Change(
        {
            _CORE_SCHEMA: _replace(
                (r"^def int_schema\($", "assert not CoreConfig.__total__\n\\g<0>")
            )
        },
        TYPED_DICTS,
    ),
}
"""Changes of pydantic's core."""

LATE_MODEL_CHANGES = {
    "class-made-without-the-next-metaclass": Change(
        {_METACLASS: _replace((r"super\(\)\.__new__\(mcs, ", "ABCMeta.__new__(mcs, "))}, LATE_MODELS
    ),
    "option-renamed": Change(
        {
            _METACLASS: _replace(
                (
                    r"__pydantic_reset_parent_namespace__: bool = True,",
                    "__pydantic_reset_namespace__: bool = True,",
                ),
                (r"if __pydantic_reset_parent_namespace__:", "if __pydantic_reset_namespace__:"),
            )
        }
    ),
}
"""Changes of pydantic's metaclass."""

DATACLASS_CHANGES = {
    "field-attribute-renamed": Change(
        {
            "dataclasses.py": _replace(
                (r"\b(self|f|field)\.compare\b", r"\1.is_compared"),
                (r"'compare',", "'is_compared',"),
            )
        },
        DATACLASSES,
    ),
    "slots-ignored": Change(
        {"dataclasses.py": _append("def _add_slots(cls, *rest): return cls")}, DATACLASSES
    ),
    "instance-without-own-init-not-replaced": Change(
        {
            "dataclasses.py": _append(
                "_replace_any = replace",
                "def replace(obj, /, **changes):",
                "    if not obj.__dataclass_params__.init: raise TypeError('not made by __init__')",
                "    return _replace_any(obj, **changes)",
            )
        },
        DATACLASSES,
    ),
}
"""Changes of the standard library's dataclasses."""

DISPATCHER_CHANGES = {
    "function-renamed": Change(
        {_DISPATCHER: _replace(("dispatch_request", "dispatch_one"))}, DISPATCHER
    ),
    "function-moved": Change(
        {
            _RESPONSE: _replace(("to_serializable_one", "_to_serializable_one")),
            "jsonrpcserver/main.py": _replace(
                (r"Response, to_serializable_one", "Response, _to_serializable_one"),
                (r"post_process=to_ser", "post_process=_to_ser"),
            ),
        },
        DISPATCHER,
    ),
    "function-takes-other-arguments": Change(
        {
            _DISPATCHER: _replace(
                (
                    r"^    methods: Methods, context: Any, request: Request$",
                    "    context: Any, methods: Methods, request: Request",
                ),
                (
                    r"partial\(dispatch_request, methods, context\)",
                    "partial(dispatch_request, context, methods)",
                ),
            )
        },
        DISPATCHER,
    ),
    "request-has-another-field": Change(
        {
            "jsonrpcserver/request.py": _append("    version: str"),
            _DISPATCHER: _replace((r'get\("id", NOID\)', r'\g<0>, "2.0"')),
        },
        DISPATCHER,
    ),
    "part-needs-the-package": Change(
        {_DISPATCHER: _append("import jsonrpcserver", "jsonrpcserver.dispatch")}
    ),
}
"""Changes of jsonrpcserver."""

COLLECTOR_CHANGES = {
    "no-freeze": Change({"sitecustomize.py": _write("import gc\ndel gc.freeze")}, COLLECTOR),
    "no-disable": Change(
        {
            "sitecustomize.py": _write(
                "import gc\ndef disable(): raise NotImplementedError\ngc.disable = disable"
            )
        },
        COLLECTOR,
    ),
}
"""Interpreters with another garbage collector, such as PyPy's."""

WATCHFILES_CHANGES = {
    "private-module-moved": Change(
        {
            f"watchfiles/{_RUST}": None,
            "watchfiles/version.py": _write("VERSION = '1.99'"),
            "watchfiles/main.py": _replace(
                (r"^from \._rust_notify .*$", _LOAD_RUST + "RustNotify = _RustNotify")
            ),
        }
    ),
    "private-class-takes-other-arguments": Change(
        {
            f"watchfiles/{_RUST}": None,
            "watchfiles/version.py": _write("VERSION = '1.99'"),
            "watchfiles/_rust_notify.py": _append(
                _LOAD_RUST, "def RustNotify(paths, options): return _RustNotify(paths, *options)"
            ),
            "watchfiles/main.py": _replace(
                (r"RustNotify\($", "_open("),
                (
                    r"^from \._rust_notify .*$",
                    r"\g<0>\ndef _open(paths, *options): return RustNotify(paths, options)",
                ),
            ),
        }
    ),
    "compiled-part-absent": Change({f"watchfiles/{_RUST}": None}, WATCH),
}
"""Changes of watchfiles."""

CHANGES_BY_DEPENDENCY = {
    "sdk": SDK_CHANGES,
    "pydantic": PYDANTIC_CHANGES,
    "typed dictionaries": TYPED_DICT_CHANGES,
    "late models": LATE_MODEL_CHANGES,
    "dataclasses": DATACLASS_CHANGES,
    "jsonrpcserver": DISPATCHER_CHANGES,
    "collector": COLLECTOR_CHANGES,
    "watchfiles": WATCHFILES_CHANGES,
}
CHANGES = {
    f"{dependency}:{name}": change
    for dependency, changes in CHANGES_BY_DEPENDENCY.items()
    for name, change in changes.items()
}

"""Template of config.yaml: every setting, commented out, with its description.

Generated from the settings table.
"""

import json
from collections.abc import Iterator
from itertools import groupby

from pydantic_core import to_jsonable_python

from acp_server.config.table import Settings, Source, sources

SCHEMA_FILE = "config.schema.json"
"""Written next to config.yaml, so that editors complete the settings of this version."""
HEAD = f"""\
# yaml-language-server: $schema=./{SCHEMA_FILE}
#
# Settings of acp-server, with their defaults. To change one, remove the "# " from its line and from
# the sections above it. `acp-server config check` finds mistakes; `acp-server config show` prints
# the values in use and their sources. Do not put API keys here: run `acp-server setup`.
"""


def template() -> str:
    """Return the text of a new config.yaml."""
    keyed = sorted(_placed(), key=lambda each: each[0])
    sections = groupby(keyed, key=lambda each: each[0][:-1])
    return "\n".join([HEAD, *("\n".join(_section(above, list(own))) for above, own in sections)])


def _placed() -> Iterator[tuple[tuple[str, ...], Source, str]]:
    """Yield each setting's key path, its source and its default as YAML."""
    for name, source in sources().items():
        if source.key:
            default: object = to_jsonable_python(Settings.model_fields[name].default)
            shown = "" if default is None else f" {json.dumps(default)}"
            yield tuple(source.key.split(".")), source, shown


def _section(
    above: tuple[str, ...], entries: list[tuple[tuple[str, ...], Source, str]]
) -> Iterator[str]:
    """Yield the commented lines of the settings in one section."""
    for depth, part in enumerate(above):
        yield f"# {'  ' * depth}{part}:"
    indent = "  " * len(above)
    for parts, source, default in entries:
        yield f"# {indent}# {source.meaning}"
        yield f"# {indent}{parts[-1]}:{default}"
    yield ""

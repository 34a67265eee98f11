"""Template of config.yaml: every setting, commented out, with its description.

Generated from the settings table.
"""

import json
from collections.abc import Iterator
from itertools import groupby

from pydantic_core import to_jsonable_python

from acp_server.config.setting import SettingSource
from acp_server.config.table import Settings, setting_sources, setting_values

SCHEMA_FILE = "config.schema.json"
"""Written next to config.yaml, so that editors complete the settings of this version."""
HEADER = f"""\
# yaml-language-server: $schema=./{SCHEMA_FILE}
#
# Settings of acp-server, with their defaults. To change one, remove the "# " from its line and from
# the sections above it. `acp-server config check` finds mistakes; `acp-server config show
# --all` prints the values in use and their sources. Do not put API keys here: run `acp-server
# setup`.
"""


def config_template() -> str:
    """Return the text of a new config.yaml."""
    lines = [HEADER]
    keyed = sorted(_setting_entries(), key=lambda each: each[0])
    for parents, entries in groupby(keyed, key=lambda each: each[0][:-1]):
        lines += [f"# {'  ' * depth}{part}:" for depth, part in enumerate(parents)]
        indent = "  " * len(parents)
        for parts, source, default in entries:
            lines += [f"# {indent}# {source.description}", f"# {indent}{parts[-1]}:{default}"]
        lines.append("")
    return "\n".join(lines)


def _setting_entries() -> Iterator[tuple[tuple[str, ...], SettingSource, str]]:
    """Yield each setting's key path, its source and its default as YAML."""
    defaults = setting_values(Settings())
    for name, source in setting_sources().items():
        if source.key:
            default: object = to_jsonable_python(defaults[name])
            shown = "" if default is None else f" {json.dumps(default)}"
            yield tuple(source.key.split(".")), source, shown

"""The table of docs/configuration.md, made from the table of settings.

uv run python -m tests.config.settings_page    # writes the page's table again
"""

from pathlib import Path
from typing import cast

import yaml

from acp_server.config.setting import SettingSource
from acp_server.config.table import Settings, setting_sources, setting_values, type_adapter

PAGE = Path(__file__).parents[2] / "docs" / "configuration.md"
HEAD = "| key | variable | option | default | meaning |\n| --- | --- | --- | --- | --- |\n"
MAX_DEFAULT_CHARACTERS = 60


def settings_table() -> str:
    """Return the table, without settings that have neither a key nor a variable."""
    defaults = setting_values(Settings())
    rows = [
        _row(name, source, defaults[name])
        for name, source in setting_sources().items()
        if _names(source)
    ]
    return HEAD + "".join(rows)


def page_with_table(page: str) -> str:
    """Return the page with its table replaced."""
    before, _, rest = page.partition(HEAD)
    after = rest[rest.find("\n\n") :] if "\n\n" in rest else "\n"
    return f"{before}{settings_table().rstrip()}{after}"


def _names(source: SettingSource) -> bool:
    return bool(source.key or source.variable or source.option)


def choices_of(name: str) -> tuple[str, ...]:
    """Return the texts that a setting allows; none if it is no choice."""
    schema = type_adapter(name).json_schema()
    parts = cast("list[dict[str, object]]", schema.get("anyOf", [schema]))
    values = [each for part in parts for each in cast("list[object]", part.get("enum", []))]
    return tuple(each for each in values if isinstance(each, str) and each)


def _row(name: str, source: SettingSource, default: object) -> str:
    choices = ", ".join(map(_code, choices_of(name)))
    meaning = source.description.replace("|", "\\|")
    cells = (
        ", ".join(_code(name) for name in (source.key, *source.hermes_keys) if name),
        _code(source.variable),
        _code(source.option),
        _default(default),
        f"{meaning} ({choices})" if choices else meaning,
    )
    return f"| {' | '.join(cells)} |\n"


def _code(name: str) -> str:
    return f"`{name}`" if name else ""


def _default(value: object) -> str:
    if value in (None, "", (), {}):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return _code(str(int(value)))
    if isinstance(value, str | int | float):
        return _code(str(value))
    text = yaml.safe_dump(value, default_flow_style=True).strip() if isinstance(value, list) else ""
    return _code(text) if text and len(text) <= MAX_DEFAULT_CHARACTERS else ""


if __name__ == "__main__":
    PAGE.write_text(page_with_table(PAGE.read_text("utf-8")), "utf-8")

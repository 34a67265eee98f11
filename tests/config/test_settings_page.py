"""The page on the configuration follows from the table of settings."""

from acp_server.config.table import setting_sources
from tests.config.settings_page import PAGE, choices_of, page_with_table, settings_table


def test_the_table_of_the_page_is_current() -> None:
    """Renew it by `uv run python -m tests.config.settings_page`."""
    page = PAGE.read_text("utf-8")
    assert page == page_with_table(page)
    assert all(f"`{each.key}`" in page for each in setting_sources().values() if each.key)


def test_the_page_lists_the_values_of_choices() -> None:
    assert choices_of("sandbox_network") == ("off", "hosts", "on")
    assert choices_of("model") == ()
    rows = [line for line in settings_table().splitlines() if "`sandbox.network`" in line]
    assert [row.endswith("(`off`, `hosts`, `on`) |") for row in rows] == [True]

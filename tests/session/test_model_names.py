"""Names of models that files have, as ids of the catalog."""

from collections.abc import Sequence

import pytest

from acp_server.models.fixed_catalog import FixedCatalog
from acp_server.session.model_names import find_model
from acp_server.session.ports.model_catalog import ModelChoice

IDS = ("claude-opus-5-5", "claude-sonnet-5-5", "claude-sonnet-4-5", "claude-haiku-4-5-20260101")


class ListedCatalog(FixedCatalog):
    """A catalog of these models, in this order."""

    def choices(self) -> Sequence[ModelChoice]:
        return [ModelChoice(each, each) for each in IDS]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("sonnet", "claude-sonnet-5-5"),
        ("Haiku", "claude-haiku-4-5-20260101"),
        ("claude-sonnet-4-5", "claude-sonnet-4-5"),
        ("anthropic/claude-haiku-4-5", "claude-haiku-4-5-20260101"),
        ("gpt-5", None),
    ],
)
async def test_a_name_means_an_id_or_a_part_of_one(name: str, found: str | None) -> None:
    catalog = ListedCatalog("m", "m", lambda: pytest.fail("no model is needed"))
    assert await find_model(catalog, name) == found

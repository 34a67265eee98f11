"""The models of several providers as one catalog."""

from acp_server.models.aggregate_catalog import AggregateCatalog
from tests.handlers.fake_models import EchoModel
from tests.support.server_parts import FakeModelCatalog


async def test_only_the_endpoint_of_a_model_id_is_queried() -> None:
    first, second, third = (
        FakeModelCatalog({"old": EchoModel()}, models_after_refresh={"new": EchoModel()})
        for _ in range(3)
    )
    catalog = AggregateCatalog(first, {"second": second, "third": third})
    await catalog.load_models_of("second:new")
    assert [choice.id for choice in catalog.choices()] == [
        "old",
        "second:old",
        "second:new",
        "third:old",
    ]


async def test_an_id_without_a_known_provider_is_looked_up_at_the_first() -> None:
    first, second = (
        FakeModelCatalog({"old": EchoModel()}, models_after_refresh={"new": EchoModel()})
        for _ in range(2)
    )
    catalog = AggregateCatalog(first, {"second": second})
    await catalog.load_models_of("elsewhere:new")
    assert [choice.id for choice in catalog.choices()] == ["old", "new", "second:old"]

"""The models of several providers as one catalog."""

from acp_server.models.aggregate_catalog import JoinedCatalog
from tests.handlers.fake_models import Echo
from tests.support.server_parts import Shelf


async def test_only_the_endpoint_that_would_have_a_model_is_asked_for_it() -> None:
    first, second, third = (Shelf({"old": Echo()}, coming={"new": Echo()}) for _ in range(3))
    joined = JoinedCatalog(first, {"second": second, "third": third})
    await joined.learn_of("second:new")
    assert [choice.id for choice in joined.choices()] == [
        "old",
        "second:old",
        "second:new",
        "third:old",
    ]


async def test_an_id_of_no_provider_is_looked_for_at_the_first() -> None:
    first, second = (Shelf({"old": Echo()}, coming={"new": Echo()}) for _ in range(2))
    joined = JoinedCatalog(first, {"second": second})
    await joined.learn_of("elsewhere:new")
    assert [choice.id for choice in joined.choices()] == ["old", "new", "second:old"]

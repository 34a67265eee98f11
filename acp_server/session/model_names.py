"""Names of models in files that were written for other agents, such as `haiku`."""

from acp_server.session.ports.model_catalog import ModelCatalog


async def find_model(catalog: ModelCatalog, name: str) -> str | None:
    """Return the id of the model that a name means: an id, or a part of one; None if none does.

    `anthropic/claude-haiku-4-5`, with a provider in front, is read without it, too. The endpoint
    is asked for its models if none is known by that name.
    """
    found = _find_known(catalog, name)
    if found is None:
        await catalog.refresh()
        found = _find_known(catalog, name)
    return found


def _find_known(catalog: ModelCatalog, name: str) -> str | None:
    ids = [each.id for each in catalog.choices()]
    wanted = (name.lower(), name.lower().rpartition("/")[2])
    # Ids are listed with the newest first.
    exact = (each for text in wanted for each in ids if each.lower() == text)
    part = (each for text in wanted for each in ids if text in each.lower())
    return next(exact, None) or next(part, None)

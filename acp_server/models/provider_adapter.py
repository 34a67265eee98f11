"""Provider specific knowledge of a catalog: model families, context windows and sign-in."""

from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from acp_server.models.access import ListedModel
from acp_server.models.families import (
    ModelFamily,
    choose_default_model,
    display_name,
    known_families,
    known_window_tokens,
)
from acp_server.models.model_facts import ModelFacts, messages_api_family, openai_compatible_family
from acp_server.models.provider_profiles import ANTHROPIC, ProviderProfile, is_chat_model
from acp_server.startup.fast_dataclass import frozen_dataclass

ANTHROPIC_HOST = "api.anthropic.com"
PROVIDERS_WITHOUT_FAST_MODE = frozenset({"bedrock"})
"""Endpoints of the Messages API that are known to have no fast mode of any model."""


@frozen_dataclass
class ProviderAdapter:
    """Answers a catalog's questions about its provider."""

    profile: ProviderProfile
    facts: ModelFacts
    needs_key: bool
    """Whether no request may be sent without a key."""

    @property
    def sign_in_message(self) -> str:
        """The message for the user when there are no credentials."""
        if self.profile.sign_in_command and not self.profile.key_variables:
            return (
                f"there is no valid sign-in at {self.profile.title}; sign in again with "
                f"`{self.profile.sign_in_command}`, then try again"
            )
        command = "acp-server setup"
        if self.profile.name != "anthropic":
            command = f"{command} --provider {self.profile.name}"
        variables = " or ".join(self.profile.key_variables) or "`model.api_key`"
        return (
            # Not "credentials: set ...": redaction takes that for a secret and hides the remedy.
            f"no API key was found; set {variables}, or run `{command}` in a terminal, "
            f"then try again{self._sign_in_advice}"
        )

    def known_models(self, base_url: str | None) -> tuple[ListedModel, ...]:
        """Return the models to offer until an endpoint has listed its own; empty if unknown."""
        host = None if base_url is None else urlsplit(base_url).hostname
        if self.profile.name != ANTHROPIC.name or host not in {None, ANTHROPIC_HOST}:
            return ()
        offered = [family for family in known_families() if family.purpose]
        return tuple(ListedModel(family.name, display_name(family)) for family in offered)

    @property
    def _sign_in_advice(self) -> str:
        if not self.profile.sign_in_command:
            return ""
        return f". If Hermes was signed in, sign in again with `{self.profile.sign_in_command}`"

    @property
    def _is_messages_api(self) -> bool:
        return self.profile.api_format == "messages"

    def family(self, model_id: str, listed: ListedModel | None) -> ModelFamily:
        """Return a model's family, corrected by the endpoint's own data about the model."""
        find = messages_api_family if self._is_messages_api else openai_compatible_family
        family = find(model_id, self.facts, listed)
        if self.profile.name in PROVIDERS_WITHOUT_FAST_MODE:
            family = replace(family, fast=None)
        configured = self.profile.endpoint_profile.max_output_tokens
        if configured is None:
            return family
        # A limit that the Messages API would reject is of no use; others may be only assumed.
        limit = min(configured, family.max_output_tokens) if self._is_messages_api else configured
        return replace(family, max_output_tokens=limit)

    def known_window_tokens(self, model_id: str, listed: ListedModel | None) -> int | None:
        """Return a model's context window; None if no source knows it.

        Sources in this order: configuration, endpoint, built-in table.
        """
        window = self.facts.configured_window(model_id) or (listed and listed.window_tokens)
        if window:
            return window
        return known_window_tokens(model_id) or (
            None if self._is_messages_api else self.facts.lookup_window(model_id)
        )

    def is_selectable(self, model_id: str) -> bool:
        """Return whether to offer a listed model for choice: only chat models."""
        return self._is_messages_api or is_chat_model(model_id)

    def choose_default_model(self, ids: Sequence[str]) -> str | None:
        """Return the default model among the ids that an endpoint lists; None if none fits."""
        if self._is_messages_api:
            return choose_default_model(ids)
        selectable = [model_id for model_id in ids if self.is_selectable(model_id)]
        for part in self.profile.preferred_ids:
            found = next((model_id for model_id in selectable if part in model_id), None)
            if found is not None:
                return found
        accepts_any = self.profile.is_local or not self.profile.preferred_ids
        return selectable[0] if selectable and accepts_any else None

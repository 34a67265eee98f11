"""Memory provider for Honcho, a memory service that models the user."""

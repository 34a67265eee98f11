"""Permissions: which effects are allowed, refused, or need the user's approval."""

"""What the model sees first: a tiered, cache-stable system prompt. Pure; knows no server."""

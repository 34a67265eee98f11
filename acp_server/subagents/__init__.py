"""Sub-agents: run tasks that the model delegates, each with its own conversation and budget."""

"""Sub-agents: tasks that the model hands on, each with a conversation and a budget of its own."""

"""The system prompt and the context that a session adds to it: instructions, hints, attachments."""

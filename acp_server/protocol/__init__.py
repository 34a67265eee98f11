"""The words of ACP v1: what each message holds, and nothing of what is done about it."""

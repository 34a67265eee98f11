"""One task without an editor: a prompt, a policy in a person's place, a result that is true."""

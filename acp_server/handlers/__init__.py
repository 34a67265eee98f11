"""ACP in, engine out: the only place where both vocabularies meet."""

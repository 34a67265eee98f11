"""Translation between ACP and the engine: the only package that imports both vocabularies."""

"""Settings as data: the table, value types, YAML files, JSON schema and template."""

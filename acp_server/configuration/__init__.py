"""What can be configured, as data: the table of settings, their values, their files and schema."""

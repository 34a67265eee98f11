"""The tool `read_file`, attachments and media types."""

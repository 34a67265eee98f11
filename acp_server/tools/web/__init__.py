"""Web pages: URL parsing, connections to checked addresses, size limits, text extraction."""

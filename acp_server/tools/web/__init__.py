"""Pages of the web: addresses, connections that go where was checked, bounds, readable text."""

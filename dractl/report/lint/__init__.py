"""Reports of lint, one module a format."""

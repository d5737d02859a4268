"""Reports of lint, with one module for each format."""

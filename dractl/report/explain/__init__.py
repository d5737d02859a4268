"""Reports of explain."""

"""Reports of upgrade."""

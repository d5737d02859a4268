"""Reports of alignment."""

"""Reports of cel."""

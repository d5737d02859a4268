"""Reports of ``dractl impact``."""

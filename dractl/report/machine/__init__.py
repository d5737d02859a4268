"""Reports of discover and render."""

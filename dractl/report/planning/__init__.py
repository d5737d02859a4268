"""``dractl plan`` as text, JSON and HTML."""

"""Reports of what is known: drivers, machines, packs."""

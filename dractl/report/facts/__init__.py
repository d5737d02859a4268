"""Reports of dractl's facts: drivers, machines, packs."""

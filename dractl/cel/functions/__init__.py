"""What the functions of CEL do: one module a library, and :mod:`.dispatch`, which picks the overload."""

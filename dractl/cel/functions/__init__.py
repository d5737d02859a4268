"""Implementations of CEL's functions: one module per library, and :mod:`.dispatch`, which selects
the overload.
"""

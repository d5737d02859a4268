"""From the scheduler's verdict to causes: before any node, on a node, in one request, in several,
in pools.
"""

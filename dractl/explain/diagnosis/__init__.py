"""From the scheduler's verdict to causes: causes before any node is tried, on a node, in one
request, in several requests, and in pools.
"""

"""Turns the scheduler's verdict into causes. A cause applies before any node is tried, on a node,
in one request, in several requests, or in pools.
"""

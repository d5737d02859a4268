"""Reasons: one class for each thing that keeps a subject from being placed: its fields, its page,
its sentence and its steps. :mod:`registry` has all pages.
"""

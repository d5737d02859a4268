"""Reasons: a class for each thing that keeps a subject from being placed, with its fields, its
page, its sentence and its steps. :mod:`registry` has all pages.
"""

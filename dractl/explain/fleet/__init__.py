"""Answers about many subjects, about groups of pods, about nodes, and about machines that nobody
has yet.
"""

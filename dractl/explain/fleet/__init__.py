"""Answers about many subjects, groups of pods, nodes, and machines that the cluster does not have
yet.
"""

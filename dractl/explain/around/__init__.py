"""Answers about many subjects, and about nodes: the same question asked several times, or about what there is."""

"""Intel's drivers: GPU, Gaudi, QAT."""

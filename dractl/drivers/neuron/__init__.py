"""AWS Neuron's driver: neuron.aws.com."""

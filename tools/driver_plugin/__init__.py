"""Calls a DRA driver as the kubelet does, and checks its answers.

For developers of drivers, on a test machine.

    python -m tools.driver_plugin --kubelet-root DIR --cdi-root DIR --kubeconfig FILE \\
        -- DRIVER ARGUMENTS...

It starts the driver itself, since it has to restart it, and creates and deletes ResourceClaims in
the cluster of the kubeconfig. So do not run it on a node that people use. Needs grpcio and
protobuf.
"""

"""dractl: the hardware of a node, the ResourceSlices it becomes, the scheduler's verdict on claims
that ask for it.

As a library: :mod:`dractl.allocation` (what kube-scheduler would allocate), :mod:`dractl.cel`
(selectors), :mod:`dractl.model` (the objects, quantities, releases), :mod:`dractl.manifests` (files
to documents), :mod:`dractl.validation` (what an API server says), :mod:`dractl.lint`,
:mod:`dractl.explain`, :mod:`dractl.probes` and :mod:`dractl.topology` (a node's hardware),
:mod:`dractl.drivers` (its ResourceSlices). docs/library.md shows how.
"""

__version__ = "0.2.0"

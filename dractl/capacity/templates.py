"""Further copies of a cluster's claim templates."""

from collections import Counter
from collections.abc import Callable

from dractl.allocation import Features
from dractl.capacity.copies import copies_of_object
from dractl.capacity.placing import ATTEMPT_BUDGET, Fit, place_copies
from dractl.cluster.state import ClusterState, Key
from dractl.errors import DractlError
from dractl.views.claim_template import ClaimTemplate

_MAX_TEMPLATES = 6
"""The maximum number of templates whose copies are counted, which takes a few seconds."""
_MAX_TEMPLATE_NODES = 6000
"""The maximum product of templates and nodes; with many nodes, fewer templates are counted."""


def count_template_copies(
    state: ClusterState, features: Features, progress: Callable[[str], None]
) -> list[Fit]:
    """Count the further copies of the templates that the most pods use."""
    fits = []
    for key in _list_popular(state):
        progress(f"placing copies of {key[1]}")
        try:
            subject = copies_of_object(state, "ResourceClaimTemplate", key)
            budget = ATTEMPT_BUDGET // _MAX_TEMPLATES
            fits.append(place_copies(subject, features, budget=budget))
        except DractlError:
            continue  # a template that no server would have accepted is left out
    return fits


def _list_popular(state: ClusterState) -> list[Key]:
    """Return the templates that the most pods use, as many as can be tried in a few seconds."""
    pod_count = Counter(
        (key[0], reference.template_name)
        for key, pod in state.pods.items()
        for reference in pod.claim_references
    )
    # A template without requests fits any number of times.
    candidates = [
        key
        for key, template in state.objects("ResourceClaimTemplate").items()
        if ClaimTemplate(template).claim.requests
    ]
    nodes = max(1, len(state.objects("Node")))
    limit = max(1, min(_MAX_TEMPLATES, _MAX_TEMPLATE_NODES // nodes))
    return sorted(candidates, key=lambda key: (-pod_count[key], key))[:limit]

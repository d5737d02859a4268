"""Print what kube-scheduler 1.36 would say about a template's claim, on each node.

Usage: python fits.py CLUSTER TEMPLATE
"""

import sys

from dractl import model
from dractl.allocation import Allocated, AllocatedState, Allocator, Features
from dractl.manifests import load


def objects(path, kind):
    found = [
        model.decode(document.value)
        for document in load([path]).documents
        if model.decodable(document.value)
    ]
    return [item for item in found if isinstance(item, kind)]


cluster, manifests = sys.argv[1:]
features = Features.for_release("1.36")
held = AllocatedState.from_claims(objects(cluster, model.ResourceClaim), features)
slices, classes = objects(cluster, model.ResourceSlice), objects(cluster, model.DeviceClass)
allocator = Allocator(slices, classes, state=held, features=features)
for template in objects(manifests, model.ResourceClaimTemplate):
    claim = model.ResourceClaim(template.metadata, template.spec.spec, model.ResourceClaimStatus())
    for node in objects(cluster, model.Node):
        verdict = allocator.allocate(node, [claim])
        print(node.metadata.name, "fits" if isinstance(verdict, Allocated) else verdict.message)
        for request in allocator.survey(node, [claim]).requests:
            print(
                "  request",
                request.request,
                *(f"- {stage.name}: {len(stage.kept)}" for stage in request.stages),
            )

"""Which deliveries go to one cluster."""

from dractl.inputs.origins import make_origins
from dractl.inputs.worlds import Identity, Root, group_roots

APPS: Identity = ("kustomize.toolkit.fluxcd.io", "Kustomization", "flux-system", "apps")
INFRA: Identity = ("kustomize.toolkit.fluxcd.io", "Kustomization", "flux-system", "infra")


def test_roots_with_a_common_object_are_of_different_clusters() -> None:
    roots = [Root("/r/a/apps.yaml", frozenset({APPS})), Root("/r/b/apps.yaml", frozenset({APPS}))]
    assert group_roots(roots) == [[0], [1]]


def test_root_belongs_to_the_nearest_possible_cluster() -> None:
    roots = [
        Root("/r/a/apps.yaml", frozenset({APPS})),
        Root("/r/b/apps.yaml", frozenset({APPS})),
        Root("/r/b/infra.yaml", frozenset({INFRA})),
        Root("/r/a/infra.yaml", frozenset({INFRA})),
    ]
    assert group_roots(roots) == [[0, 3], [1, 2]]


def test_a_repository_is_known_by_its_remotes() -> None:
    origins = make_origins(["git@github.com:acme/Infra.git"])
    assert origins.has("https://github.com/acme/infra")
    assert origins.has("ssh://git@github.com/acme/infra.git")
    assert not origins.has("https://github.com/acme/other")
    assert origins.has("")
    assert make_origins([]).has("https://github.com/acme/other")

"""Roles of DRA drivers: the requests of a driver that the API server of a release forbids.

An account has the rules of all roles that are bound to it. Sources: the library with which drivers
are built makes the requests (k8s.io/dynamic-resource-allocation v0.37.1), and kubernetes/kubernetes
v1.37.1 pkg/registry/resource/utils.go asks the authorizer about them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, Literal

from msgspec import Struct

from dractl.model.releases import Target
from dractl.objects import items, mapping, text
from dractl.objects.values import Path

GATE: Final = "DRAResourceClaimGranularStatusAuthorization"
GROUP: Final = "rbac.authorization.k8s.io"
ROLES: Final = ("ClusterRole", "Role")
BINDINGS: Final = ("ClusterRoleBinding", "RoleBinding")
_DRA = "resource.k8s.io"
_PREFIXES = ("associated-node:", "arbitrary-node:")
_WRITES = ("update", "patch")
_OF_DRIVERS = frozenset(
    {
        "resourceslices",
        "resourceclaims",
        "resourceclaims/status",
        "resourceclaims/binding",
        "resourceclaims/driver",
    }
)
_PUBLISHES = ("create", "update")
_SLICE_VERBS = ("list", "watch", "create", "update", "delete")
"""The verbs of the informer, and of the writes of syncPool, in
resourceslice/resourceslicecontroller.go.
"""

_CLUSTER_ADMIN: Mapping[str, Any] = {
    "kind": "ClusterRole",
    "metadata": {"name": "cluster-admin"},
    "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}],
}
"""The role that every cluster has (bootstrappolicy/policy.go)."""

Kind = Literal["scope", "status", "slices", "nodes", "claims"]


class Rule(Struct, frozen=True):
    """A rule of a role, as rbac/v1/evaluation_helpers.go matches requests with it."""

    groups: tuple[str, ...]
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()
    """The names of objects to which it is limited; empty for all objects."""

    def allows(self, verb: str, group: str, resource: str) -> bool:
        """Return whether the rule allows a verb on at least one object of ``resource``, which may
        be a subresource such as ``resourceclaims/status``.
        """
        _, slash, subresource = resource.partition("/")
        wildcard = f"*/{subresource}" if slash else "*"
        return (
            not {verb, "*"}.isdisjoint(self.verbs)
            and not {group, "*"}.isdisjoint(self.groups)
            and not {resource, wildcard, "*"}.isdisjoint(self.resources)
        )

    def names_resource(self, resource: str) -> bool:
        """Return whether the rule names a resource of DRA explicitly."""
        return _DRA in self.groups and resource in self.resources


class Identity(Struct, frozen=True):
    """A role or an account."""

    kind: str
    namespace: str
    """Empty for a ClusterRole."""
    name: str


class Binding(Struct, frozen=True):
    """A binding of a role to accounts."""

    role: Identity
    accounts: frozenset[Identity]


class RoleFault(Struct, frozen=True):
    """A request of a driver that its role does not allow."""

    kind: Kind
    """The objects that the request is about."""
    path: Path
    """The path in the role at which the fault is reported."""
    message: str
    help: str
    rule: Mapping[str, Any]
    """The missing rule, in the form in which a role contains it."""
    sure: bool = True
    """False if only drivers on nodes make the request, since this driver may be a controller."""


def binding_of(value: Mapping[str, Any]) -> Binding | None:
    """Return the role and the accounts that a RoleBinding or a ClusterRoleBinding binds; None for
    any other object.
    """
    reference = mapping(value.get("roleRef"))
    kind, name = text(reference.get("kind")), text(reference.get("name"))
    if value.get("kind") not in BINDINGS or kind not in ROLES or not name:
        return None
    namespace = text(mapping(value.get("metadata")).get("namespace"))
    subjects = map(mapping, items(value.get("subjects")))
    accounts = {
        Identity(
            text(one.get("kind")), text(one.get("namespace")) or namespace, text(one.get("name"))
        )
        for one in subjects
    }
    role = Identity(kind, namespace if kind == "Role" else "", name)
    return Binding(role, frozenset(accounts))


def identity(role: Mapping[str, Any]) -> Identity:
    """Return the identity of a role."""
    metadata = mapping(role.get("metadata"))
    kind = text(role.get("kind"))
    namespace = text(metadata.get("namespace")) if kind == "Role" else ""
    return Identity(kind, namespace, text(metadata.get("name")))


def companions(
    role: Mapping[str, Any], roles: Iterable[Mapping[str, Any]], bindings: Sequence[Binding]
) -> list[Mapping[str, Any]]:
    """Return the other roles of the accounts that have this role.

    If no binding names the role, its accounts are unknown, and all of ``roles`` are returned.
    """
    role_id = identity(role)
    accounts = {account for one in bindings if one.role == role_id for account in one.accounts}
    shared = {one.role for one in bindings if not accounts.isdisjoint(one.accounts)}
    others = [other for other in roles if other is not role]
    if identity(_CLUSTER_ADMIN) in shared:
        others.append(_CLUSTER_ADMIN)
    return [other for other in others if not accounts or identity(other) in shared]


def find_faults(
    role: Mapping[str, Any],
    target: Target,
    others: Sequence[Mapping[str, Any]] = (),
    *,
    on_nodes: bool = False,
) -> tuple[RoleFault, ...]:
    """Return the requests that a DRA driver needs and that its role does not allow.

    Roles of other programs have no faults.

    ``others`` are the other roles of the same account. ``on_nodes`` is True if a DaemonSet runs as
    the account.
    """
    if _is_completed(role):
        return ()
    rules = rules_of(role)
    account = _account([role, *others])
    if role.get("kind") == "Role" and (scope := _find_scope_fault(rules)) is not None:
        return (scope, *_status(rules, account, target))
    return (*_slices(rules, account, on_nodes=on_nodes), *_status(rules, account, target))


def concerns_drivers(role: Mapping[str, Any]) -> bool:
    """Return whether a role explicitly names resources that a DRA driver reads or writes."""
    return role.get("kind") in ROLES and any(
        _DRA in rule.groups and not _OF_DRIVERS.isdisjoint(rule.resources)
        for rule in rules_of(role)
    )


def publishes_slices(role: Mapping[str, Any]) -> bool:
    """Return whether a role permits its holder to publish slices, by name or with a wildcard."""
    return any(
        rule.allows(verb, _DRA, "resourceslices") for rule in rules_of(role) for verb in _PUBLISHES
    )


class _Account(Struct, frozen=True):
    """The rules of all roles of an account."""

    everywhere: tuple[Rule, ...]
    """The rules of ClusterRoles."""
    somewhere: tuple[Rule, ...]
    """The rules of Roles, which grant nothing on objects that have no namespace."""

    def allows(self, verb: str, resource: str) -> bool:
        """Return whether the account may use a verb on the claims of some namespace."""
        return any(
            rule.allows(verb, _DRA, resource) for rule in (*self.everywhere, *self.somewhere)
        )

    def allows_every_name(self, verb: str, resource: str) -> bool:
        """Return whether the account may use a verb on every claim of some namespace."""
        rules = (*self.everywhere, *self.somewhere)
        return any(rule.allows(verb, _DRA, resource) and not rule.names for rule in rules)

    def allows_everywhere(self, verb: str, resource: str, group: str = _DRA) -> bool:
        """Return whether the account may use a verb on every object in the cluster."""
        return any(
            rule.allows(verb, group, resource) and not rule.names for rule in self.everywhere
        )


def _account(roles: Iterable[Mapping[str, Any]]) -> _Account:
    rules: dict[bool, list[Rule]] = {True: [], False: []}
    for role in roles:
        rules[role.get("kind") == "ClusterRole"].extend(rules_of(role))
    return _Account(tuple(rules[True]), tuple(rules[False]))


def _is_completed(role: Mapping[str, Any]) -> bool:
    """Return whether the role cannot be judged by itself.

    Other roles are aggregated into it, or it is aggregated into another one, or the API server
    reconciles it (plugin/pkg/auth/authorizer/rbac/bootstrappolicy).
    """
    labels = mapping(mapping(role.get("metadata")).get("labels"))
    return (
        "aggregationRule" in role
        or labels.get("kubernetes.io/bootstrapping") == "rbac-defaults"
        or any("/aggregate-to-" in str(key) for key in labels)
    )


def rules_of(role: Mapping[str, Any]) -> list[Rule]:
    """Return the rules of a role, by their index."""
    written = [mapping(entry) for entry in items(role.get("rules"))]
    return [
        Rule(
            *(
                _texts(entry.get(key))
                for key in ("apiGroups", "resources", "verbs", "resourceNames")
            )
        )
        for entry in written
    ]


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(value for value in items(values) if isinstance(value, str))


def _position(rules: Sequence[Rule], resource: str, verbs: Sequence[str] = ()) -> int | None:
    """Return the index of the first rule that names a resource explicitly; None if none does.

    If ``verbs`` is not empty, the rule must have one of them.
    """
    asked = {*verbs, "*"}
    return next(
        (
            at
            for at, rule in enumerate(rules)
            if rule.names_resource(resource) and not (verbs and asked.isdisjoint(rule.verbs))
        ),
        None,
    )


def _make_rule(resource: str, verbs: Iterable[str], group: str = _DRA) -> dict[str, Any]:
    return {"apiGroups": [group], "resources": [resource], "verbs": list(verbs)}


def _find_scope_fault(rules: Sequence[Rule]) -> RoleFault | None:
    """Return the fault of a Role whose rule is about slices, which have no namespace."""
    at = _position(rules, "resourceslices", _PUBLISHES)
    if at is None:
        return None
    return RoleFault(
        "scope",
        ("rules", at, "resources", rules[at].resources.index("resourceslices")),
        "a Role grants nothing on ResourceSlices, which belong to no namespace",
        "move the rule to a ClusterRole, and bind that with a ClusterRoleBinding",
        _make_rule("resourceslices", _SLICE_VERBS),
    )


def _slices(rules: Sequence[Rule], account: _Account, *, on_nodes: bool) -> Iterator[RoleFault]:
    """Yield the faults that keep a driver from publishing slices or from preparing claims."""
    at = _position(rules, "resourceslices", _PUBLISHES)
    if at is None:
        return
    lacking = [v for v in _SLICE_VERBS if not account.allows_everywhere(v, "resourceslices")]
    if lacking:
        yield RoleFault(
            "slices",
            ("rules", at, "verbs"),
            f"the role is not allowed to {' or '.join(lacking)} ResourceSlices: a driver publishes"
            f" its devices with {', '.join(_SLICE_VERBS)}",
            f"add {', '.join(lacking)} to the verbs",
            _make_rule("resourceslices", lacking),
        )
    reads_node = account.allows_everywhere("get", "nodes", "")
    reads_claims = account.allows_every_name("get", "resourceclaims")
    sure = on_nodes or reads_node or reads_claims
    if not reads_node:
        yield RoleFault(
            "nodes",
            ("rules", at),
            "the role is not allowed to get Nodes: a driver on a node reads its Node to become the"
            " owner of its slices, and publishes none without that",
            'add a rule with apiGroups [""], resources [nodes] and verbs [get]',
            _make_rule("nodes", ["get"], ""),
            sure,
        )
    if not reads_claims:
        yield RoleFault(
            "claims",
            ("rules", at),
            "the role is not allowed to get ResourceClaims: a driver on a node reads each claim"
            " before it prepares the claim, and no pod starts without that",
            f"add a rule with apiGroups [{_DRA}], resources [resourceclaims] and verbs [get]",
            _make_rule("resourceclaims", ["get"]),
            sure,
        )


def _status(rules: Sequence[Rule], account: _Account, target: Target) -> Iterator[RoleFault]:
    """Yield the fault of a role that may write the status of claims, but has no permission for any
    of its fields.

    AuthorizedForBinding requires the verb of the write on ``resourceclaims/binding`` in the whole
    cluster. AuthorizedForDeviceStatus requires that verb with a prefix on
    ``resourceclaims/driver``, for the driver's name.
    """
    at = _position(rules, "resourceclaims/status", _WRITES)
    if at is None or not target.enabled(GATE):
        return
    if any(account.allows_everywhere(verb, "resourceclaims/binding") for verb in _WRITES):
        return
    verbs = [verb for verb in _WRITES if account.allows(verb, "resourceclaims/status")]
    if any(account.allows(f"{p}{v}", "resourceclaims/driver") for p in _PREFIXES for v in verbs):
        return
    publishes = _position(rules, "resourceslices", _PUBLISHES) is not None
    wanted = [f"{_PREFIXES[0]}{verb}" for verb in verbs]
    driver = _make_rule("resourceclaims/driver", wanted)
    other = _position(rules, "resourceclaims/driver")
    if other is not None:
        granted = ", ".join(rules[other].verbs)
        yield RoleFault(
            "status",
            ("rules", other, "verbs"),
            f"resourceclaims/driver has no verb {granted}: Kubernetes {target.release} asks for"
            f" {wanted[0]} where the"
            f" driver runs on the node of the claim, or else {_PREFIXES[1]}{verbs[0]}",
            f"write verbs [{', '.join(wanted)}]",
            driver,
        )
        return
    allocates = (
        "" if publishes else "; one that allocates claims needs update on resourceclaims/binding"
    )
    yield RoleFault(
        "status",
        ("rules", at, "resources", rules[at].resources.index("resourceclaims/status")),
        f"Kubernetes {target.release} refuses every change that this role makes to the status of a"
        f" claim: status.devices"
        f" needs {wanted[0]} on resourceclaims/driver ({GATE})",
        f"add a rule with apiGroups [{_DRA}], resources [resourceclaims/driver], verbs"
        f" [{', '.join(wanted)}] and"
        f" resourceNames with the driver{allocates}",
        driver,
    )

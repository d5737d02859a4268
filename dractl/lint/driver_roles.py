"""The roles of DRA drivers in a run, with the requests that the API server forbids to them."""

from collections.abc import Iterator

from dractl.lint.model import Manifest, Run
from dractl.validation.roles import ROLES, RoleFault, companions, find_faults, identity


def faults_of_roles(run: Run) -> Iterator[tuple[Manifest, RoleFault]]:
    """Yield the faults of each role of the run. The other roles of its account are looked up among
    all objects that are judged.
    """
    bindings = run.evidence.bindings
    roles = [subject.value for kind in ROLES for subject in run.whole.of(kind)]
    for subject in (other for kind in ROLES for other in run.of(kind)):
        accounts = (
            account
            for binding in bindings
            if binding.role == identity(subject.value)
            for account in binding.accounts
        )
        on_nodes = any(other.name in run.evidence.node_accounts for other in accounts)
        others = companions(subject.value, roles, bindings)
        for fault in find_faults(subject.value, run.target, others, on_nodes=on_nodes):
            yield subject, fault

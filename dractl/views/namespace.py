"""Namespaces."""

from dractl.views.base import View

ADMIN_ACCESS_LABEL = "resource.kubernetes.io/admin-access"


class Namespace(View):
    """A namespace."""

    @property
    def allows_admin_access(self) -> bool:
        """True if claims of the namespace may ask for adminAccess."""
        return self.labels.get(ADMIN_ACCESS_LABEL) == "true"

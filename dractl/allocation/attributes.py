"""The values of attributes that constraints compare."""

from dractl.allocation.derived import DerivedAttributes, DerivedFault
from dractl.allocation.features import Behaviour, Features
from dractl.allocation.matching import Matcher
from dractl.allocation.pools import PoolDevice
from dractl.allocation.problem import FAULT, OPAQUE, Scalar, Value
from dractl.model import DeviceAttribute
from dractl.properties import cached_property


def lookup(candidate: PoolDevice, attribute: str) -> DeviceAttribute | None:
    """Return an attribute by its full name, or by its bare name if the driver is the domain."""
    return candidate.device.attribute(attribute, candidate.id.driver)


class AttributeReader:
    """Reads attributes as a variant of upstream's allocator compares them."""

    def __init__(self, features: Features, behaviour: Behaviour, matcher: Matcher) -> None:
        self.features = features
        self.behaviour = behaviour
        self.matcher = matcher

    def value(self, candidate: PoolDevice, attribute: str, *, lists: bool, identity: bool) -> Value:
        """Return the value of an attribute. With ``identity``, values are equal only if they belong
        to the same device, since 1.34 compares pointers.
        """
        value = lookup(candidate, attribute)
        if value is None:
            return None
        if identity and value.type in ("string", "int", "bool", "version"):
            return ("device", candidate.id)
        return as_value(value, lists=lists)

    def derive(self, candidate: PoolDevice, expression: str, *, lists: bool) -> Value:
        """Return the value of a derived attribute; FAULT if it cannot be evaluated."""
        try:
            value = self._derived.value(expression, candidate.id.driver, candidate.device)
        except DerivedFault:
            return FAULT
        return as_value(value, lists=lists)

    def fault_text(self, candidate: PoolDevice, attribute: str, expression: str) -> str:
        """Return upstream's message for a derived attribute that is FAULT."""
        text = self._derived.compile_fault(expression)
        if text is not None:
            return f"compile derived attribute {attribute} failed: {text}"
        try:
            self._derived.value(expression, candidate.id.driver, candidate.device)
        except DerivedFault as fault:
            text = str(fault)
        return f"evaluate derived attribute {attribute} on device {candidate.id} failed: {text}"

    @cached_property
    def _derived(self) -> DerivedAttributes:
        return DerivedAttributes(self.matcher.target)


def as_value(attribute: DeviceAttribute, *, lists: bool) -> Value:
    """Return an attribute's value as constraints compare it. With ``lists``, every value is a set;
    without ``lists``, a list cannot be compared.
    """
    kind, value = attribute.type, attribute.value
    if kind is None:
        return None if lists else OPAQUE
    if isinstance(value, tuple):
        if not lists:
            return OPAQUE
        members: frozenset[Scalar] = frozenset((kind[:-1], item) for item in value)
        return members or None
    return frozenset({(kind, value)}) if lists else (kind, value)

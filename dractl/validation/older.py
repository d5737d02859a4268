"""Violations in the words of 1.31 to 1.33. They are taken from the source code, and were not
compared with servers.

pkg/apis/resource/validation/validation.go of v1.31.13, v1.32.9 and v1.33.5.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from dractl.model.releases import Target
from dractl.validation.causes import value_required
from dractl.validation.place import Place
from dractl.validation.violation import Violation

_EXACTLY = r"(devices\.requests\[\d+\])\.exactly\b"
_BASIC = r"^(spec\.devices\[\d+\])(?!\.name$)(?=\.|$)"


def reword(violations: Iterable[Violation], target: Target) -> Iterator[Violation]:
    """Yield the violations with the types and fields of an older release."""
    for violation in violations:
        if "a valid C identifier" in violation.message:
            violation = replace(violation, type="FieldValueTypeInvalid")  # noqa: PLW2901
        # Up to 1.32, the internal types were the types of v1beta1.
        if (
            not target.has("device-without-basic")
            and violation.field
            and violation.type != "FieldValueDuplicate"
        ):
            field = re.sub(_BASIC, r"\1.basic", re.sub(_EXACTLY, r"\1", violation.field))
            violation = replace(violation, field=field)  # noqa: PLW2901
        if not target.has("selector-cost"):
            if violation.rule in ("RC-14", "DC-05"):
                continue  # the cost of an expression was not checked
            if violation.type == "FieldValueTooMany":
                violation = replace(violation, type="FieldValueTooLong")  # noqa: PLW2901
        yield violation


def check_basic(document: Mapping[str, Any]) -> Iterator[Violation]:
    """Yield the violations for devices of a ResourceSlice without ``basic``; paths are in the
    document as written.

    The check is validateDevice up to 1.32. Since 1.33, the conversion treats a device without
    ``basic`` as a device without attributes.
    """
    if document["kind"] == "ResourceSlice":
        for device in Place(document).child("spec", "devices").items():
            basic = device.child("basic")
            if not basic.set:
                yield value_required("RS-44", basic)

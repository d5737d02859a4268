"""Formats of names, keys and values.

k8s.io/apimachinery/pkg/api/validate/content and pkg/util/validation; pkg/apis/resource/validation
for DRA's own. The first half checks a string, the second turns faults into violations at a place.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from dractl.model.releases import Target
from dractl.validation.causes import as_ratcheted, invalid, length_violation, value_required
from dractl.validation.place import Place
from dractl.validation.violation import Violation

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_KEY: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_C_IDENTIFIER: Final = "[A-Za-z_][A-Za-z0-9_]*"

# Go folds two more characters into ASCII letters: the Kelvin sign and the long s.
_CASELESS: Final = _SUBDOMAIN.replace("a-z", "a-zA-Z\u212a\u017f")
_VALUE: Final = f"({_KEY})?"

# All other patterns are compiled on first use, since few claims have labels, taints or tolerations.
_LABEL_RE = re.compile(_LABEL)
_SUBDOMAIN_RE = re.compile(_SUBDOMAIN)

MAX_LABEL: Final = 63
MAX_SUBDOMAIN: Final = 253
MAX_DRIVER: Final = 63
MAX_POOL: Final = 253
MAX_ID: Final = 32


def length(text: str) -> int:
    """Return the length in bytes of UTF-8, as Go counts it; a lone surrogate counts as its
    replacement character.
    """
    return len(text.encode("utf-8", "replace")) if not text.isascii() else len(text)


def lower(text: str) -> str:
    """Convert to lower case like Go's strings.ToLower, which maps each character to one
    character.
    """
    return text.lower() if text.isascii() else "".join(character.lower()[0] for character in text)


def _regex(message: str, expression: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{message} (e.g. {shown}regex used for validation is '{expression}')"


@lru_cache(4096)  # many objects have the same namespaces, requests and keys
def label_errors(text: str) -> tuple[str, ...]:
    """Return the errors in an RFC 1123 label: the name of a request, device, counter or counter
    set.
    """
    errors = []
    if length(text) > MAX_LABEL:
        errors.append(f"must be no more than {MAX_LABEL} characters")
    if not _LABEL_RE.fullmatch(text):
        if _SUBDOMAIN_RE.fullmatch(text):
            errors.append("must not contain dots")
        else:
            errors.append(
                _regex(
                    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters"
                    " or '-', and must start and end with an alphanumeric character",
                    _LABEL,
                    "my-name",
                    "123-abc",
                )
            )
    return tuple(errors)


def subdomain_errors(text: str, *, caseless: bool = False) -> list[str]:
    """Return the errors in an RFC 1123 subdomain: the name of an object."""
    errors = []
    if length(text) > MAX_SUBDOMAIN:
        errors.append(f"must be no more than {MAX_SUBDOMAIN} characters")
    if caseless and not re.fullmatch(_CASELESS, text):
        errors.append(
            _regex(
                "an RFC 1123 subdomain must consist of alphanumeric characters, '-' or '.', and"
                " must start and end with an alphanumeric character",
                _SUBDOMAIN,
                "Example.com",
            )
        )
    if not caseless and not _SUBDOMAIN_RE.fullmatch(text):
        errors.append(
            _regex(
                "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters,"
                " '-' or '.', and must start and end with an alphanumeric character",
                _SUBDOMAIN,
                "example.com",
            )
        )
    return errors


@lru_cache(4096)
def label_key_errors(text: str) -> tuple[str, ...]:
    """Return the errors in a key of labels, taints and tolerations, or a type of conditions:
    ``name`` or ``domain/name``.
    """
    wrong = _regex(
        "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an"
        " alphanumeric character",
        _KEY,
        "MyName",
        "my.name",
        "123-abc",
    )
    parts = text.split("/")
    if len(parts) > 2:
        return (
            (
                f"a valid label key {wrong} with an optional DNS subdomain prefix and '/' (e.g."
                " 'example.com/MyName')"
            ),
        )
    errors = []
    if len(parts) == 2:
        if not parts[0]:
            errors.append("prefix part must be non-empty")
        else:
            errors += [f"prefix part {error}" for error in subdomain_errors(parts[0])]
    name = parts[-1]
    if not name:
        errors.append("name part must be non-empty")
    elif length(name) > MAX_LABEL:
        errors.append(f"name part must be no more than {MAX_LABEL} bytes")
    if not re.fullmatch(_KEY, name):
        errors.append(f"name part {wrong}")
    return tuple(errors)


@lru_cache(4096)
def label_value_errors(text: str) -> tuple[str, ...]:
    errors = []
    if length(text) > MAX_LABEL:
        errors.append(f"must be no more than {MAX_LABEL} bytes")
    if not re.fullmatch(_VALUE, text):
        errors.append(
            _regex(
                "a valid label must be an empty string or consist of alphanumeric characters, '-',"
                " '_' or '.', and must start and end with an alphanumeric character",
                _VALUE,
                "MyValue",
                "my_value",
                "12345",
            )
        )
    return tuple(errors)


def is_extended_resource_name(text: str) -> bool:
    """Return True for an extended resource (IsExtendedResourceName in pkg/apis/core/v1/helper)."""
    return "/" in text and not errors_in_extended_resource_name(text)


def is_native_resource(text: str) -> bool:
    """Return True for a resource without domain, or in ``kubernetes.io`` (IsNativeResource in
    pkg/apis/core/v1/helper).
    """
    return "/" not in text or "kubernetes.io/" in text


def errors_in_extended_resource_name(text: str) -> list[str]:
    """Return the errors of ExtendedResourceName in
    k8s.io/apimachinery/pkg/api/validate/strfmt.go.
    """
    errors = []
    if "/" not in text:
        errors.append("a name must be a domain-prefixed path, such as 'example.com/my-prop'")
    elif "kubernetes.io/" in text:
        errors.append('must not have "kubernetes.io/" domain')
    if text.startswith("requests."):
        errors.append('must not have "requests." prefix')
    return [*errors, *label_key_errors(f"requests.{text}")]


def label(rule: str, place: Place) -> Iterator[Violation]:
    """Yield the violations in a DNS label; the server reports an empty label as Invalid, too."""
    for error in label_errors(place.text):
        yield invalid(rule, place, error, place.text)


def subdomain(rule: str, place: Place) -> Iterator[Violation]:
    for error in subdomain_errors(place.text):
        yield invalid(rule, place, error, place.text)


def label_key(rule: str, place: Place) -> Iterator[Violation]:
    for error in label_key_errors(place.text):
        yield invalid(rule, place, error, place.text)


def label_value(rule: str, place: Place) -> Iterator[Violation]:
    for error in label_value_errors(place.text):
        yield invalid(rule, place, error, place.text)


def driver_name(rule: str, place: Place, target: Target) -> Iterator[Violation]:
    """Yield the violations in a driver's name: a subdomain of at most 63 bytes, in upper or lower
    case (ValidateCSIDriverName).
    """
    if not place.text:
        yield value_required(rule, place)
        if target.has("first-error-hides-the-rest"):
            return
    yield from _domain(rule, place, place.text)


def driver_name_as_declared(rule: str, place: Place, target: Target) -> Iterator[Violation]:
    """Yield the violations in a driver's name, for which 1.37 also has a generated rule.

    The older rule first converts the name to lower case, which turns some letters into ASCII; the
    generated rule does not.
    """
    wrong = list(driver_name(rule, place, target))
    yield from wrong
    if target.has("lower-case-domains") and place.text and not wrong:
        for error in subdomain_errors(place.text, caseless=True):
            yield invalid(rule, place, error)


def _domain(
    rule: str, place: Place, text: str, *, key: bool = False, caseless: bool = True
) -> Iterator[Violation]:
    if length(text) > MAX_DRIVER:
        yield length_violation(rule, place, MAX_DRIVER, key=key)
    for error in subdomain_errors(lower(text) if caseless else text):
        yield invalid(rule, place, error, text, key=key)


def pool_name(rule: str, place: Place) -> Iterator[Violation]:
    """Yield the violations in the name of a pool: subdomains with slashes between them
    (validatePoolName).
    """
    text = place.text
    if not text:
        yield value_required(rule, place)
        return
    if length(text) > MAX_POOL:
        yield length_violation(rule, place, MAX_POOL)
    for segment in text.split("/"):
        for error in subdomain_errors(segment):
            yield invalid(rule, place, error, segment)


def check_qualified_name(
    rule: str, place: Place, text: str, target: Target, *, key: bool = False
) -> Iterator[Violation]:
    """Yield the violations in ``name`` or ``domain/name`` (validateQualifiedName).

    Releases up to 1.37 accept any name with more than one slash.
    """
    if length(text) <= MAX_ID and re.fullmatch(_C_IDENTIFIER, text):
        return
    # 1.34 reports a missing part as Required.
    parts = text.split("/")
    if not text and not target.has("empty-names-invalid"):
        yield value_required(rule, place, "name required")
    elif len(parts) == 1:
        yield from _c_identifier(rule, place, text, key=key)
    elif len(parts) == 2:
        for part, part_name in zip(parts, ("domain", "name"), strict=True):
            if part:
                check = _domain if part_name == "domain" else _c_identifier
                yield from check(rule, place, part, key=key)
            elif target.has("empty-names-invalid"):
                yield invalid(rule, place, f"the {part_name} must not be empty", "", key=key)
            else:
                yield value_required(rule, place, f"the {part_name} must not be empty")
    elif target.has("one-slash"):
        yield as_ratcheted(
            invalid(rule, place, "must not contain more than one slash", text, key=key)
        )


def fully_qualified_name(rule: str, place: Place, target: Target) -> Iterator[Violation]:
    """Yield the violations in ``domain/name``. 1.37 also checks it declaratively, and then requires
    the domain to be in lower case.
    """
    text = place.text
    yield from check_qualified_name(rule, place, text, target)
    if "/" not in text and (text or target.has("empty-names-invalid")):
        detail = "a fully qualified name must be a domain and a name separated by a slash"
        yield invalid(
            rule,
            place,
            detail if target.has("empty-names-invalid") else "must include a domain",
            text,
        )
    parts = text.split("/")
    if target.has("lower-case-domains") and len(parts) == 2 and parts[0] != parts[0].lower():
        for error in subdomain_errors(parts[0]):
            yield invalid(rule, place, f"prefix: {error}", parts[0])


def _c_identifier(rule: str, place: Place, text: str, *, key: bool = False) -> Iterator[Violation]:
    if length(text) > MAX_ID:
        yield length_violation(rule, place, MAX_ID, key=key)
    if not re.fullmatch(_C_IDENTIFIER, text):
        message = (
            "a valid C identifier must start with alphabetic character or '_', followed by a string"
            " of alphanumeric characters or '_'"
        )
        error = _regex(message, _C_IDENTIFIER, "my_name", "MY_NAME", "MyName")
        yield invalid(rule, place, error, text, key=key)


def shorten_key(key: str, limit: int) -> str:
    """Return a key of a map as it appears in a path: cut in the middle if it is too long
    (truncateIfTooLong).
    """
    limit = max(limit, 16)
    if length(key) <= limit:
        return key
    data = key.encode("utf-8", "replace")
    remaining = limit - 3
    head, tail = data[: (remaining + 1) // 2], data[len(data) - remaining // 2 :]
    return f"{head.decode('utf-8', 'replace')}...{tail.decode('utf-8', 'replace')}"

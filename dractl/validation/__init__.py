"""What an API server of a chosen release says to a document: decoding (schemas) and the validation rules."""

from __future__ import annotations

from dractl.validation.validate import validate
from dractl.validation.violation import Violation

__all__ = ["Violation", "validate"]

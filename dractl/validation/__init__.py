"""The verdict of an API server of a chosen release on a document: decoding (schemas) and validation
rules.
"""

from dractl.validation.validate import validate
from dractl.validation.violation import Violation

__all__ = ["Violation", "validate"]

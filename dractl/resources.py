"""The location of the data that ships with dractl: in the installed package, or beside it in a
checkout.
"""

from functools import cache
from pathlib import Path


@cache
def data_dir(name: str) -> Path:
    """Return the folder ``schemas`` or ``completions``: in ``dractl/_data`` if dractl is installed,
    or at the root of a checkout.
    """
    package = Path(__file__).resolve().parent
    for root in (package / "_data", package.parent):
        if (root / name).is_dir():
            return root / name
    raise FileNotFoundError(f"{name} is neither in {package / '_data'} nor in {package.parent}")

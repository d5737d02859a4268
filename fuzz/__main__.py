"""``python -m fuzz [TARGET]... --seconds N --seed N``: runs each target for its share of the processor time, in order.

A failure prints the name of the input, ``TARGET:NUMBER``; ``python -m fuzz --again TARGET:NUMBER``
repeats it. An input that takes more than ten seconds of CPU time, or two minutes in total, is a
failure.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import traceback

from fuzz.cli import answered
from fuzz.targets import TARGETS

LIMIT = 10
"""Limit of CPU time in seconds, which does not depend on other work of the machine."""
WAIT = 120
"""Limit of wall-clock time in seconds, for processes that wait."""


class TooSlow(BaseException):
    """Raised by the alarm; no handler of dractl's may catch it."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument(
        "--seconds", type=float, default=60, help="of CPU time, for all targets together"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--again", metavar="TARGET:NUMBER", help="repeat one input")
    options = parser.parse_args()
    signal.signal(signal.SIGALRM, _alarm)
    signal.signal(signal.SIGPROF, _alarm)
    if options.again:
        name, _, number = options.again.partition(":")
        return 0 if one(name, int(number)) else 1
    failures = 0
    chosen = options.targets or list(TARGETS)
    for name in chosen:
        end = spent() + options.seconds / len(chosen)
        answered.clear()
        number = start = options.seed * 1_000_000
        while spent() < end:
            failures += not one(name, number)
            number += 1
        print(
            f"{name}: {number - start} inputs; of {answered.total()} command lines {answered[True]} were answered",
            flush=True,
        )
    return 1 if failures else 0


def spent() -> float:
    """Return the seconds of CPU time of this process and of the processes that it waited for."""
    return sum(os.times()[:4])


def one(name: str, number: int) -> bool:
    """Return True if dractl answers the input, or refuses it with a clear error, in time."""
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    signal.alarm(WAIT)
    try:
        TARGETS[name](random.Random(f"{name}:{number}"))
    except TooSlow:
        print(f"{name}:{number} takes more than {LIMIT} seconds of CPU time, or {WAIT} seconds")
    except Exception:
        print(f"{name}:{number} fails\n{traceback.format_exc(limit=-6)}")
    else:
        return True
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)
    return False


def _alarm(*_: object) -> None:
    raise TooSlow


if __name__ == "__main__":
    sys.exit(main())

"""The order of fixes."""

from enum import IntEnum, auto


class Preference(IntEnum):
    """The order in which an experienced engineer considers fixes."""

    RENEW = auto()  # recreate what is older than what it is made from, which is right by now
    CORRECT = auto()  # put right what was written wrong: a name, a value, a type
    AGAIN = auto()  # nothing is wrong any more, or soon: wait, recreate the pod
    SUPPLY = auto()  # create what is missing
    RESTORE = auto()  # bring back what is switched off, stuck or broken
    IDLE = auto()  # free what nobody uses, or what cannot run
    ADMIT = auto()  # let the pod on devices and nodes that are kept from it
    LESS = auto()  # ask for less
    ADAPT = auto()  # ask for something else
    END = auto()  # end replicas of others that have more of them
    RELAX = auto()  # give up a condition
    DROP = auto()  # give up a selector or constraint
    POLICY = auto()  # change what concerns other subjects, too
    LAST = auto()  # end pods that nothing makes anew, a Job
    OUTAGE = auto()  # end the last replica of others
    CLUSTER = auto()  # change the cluster itself

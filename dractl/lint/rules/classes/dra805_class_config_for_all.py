"""The configuration of a class also reaches requests of other classes.

## What it does

For releases up to 1.33, finds claims with requests of several classes of one driver, one of which
has a configuration.

## Why is this bad

Up to 1.34.1, the allocation does not say which requests the configuration of a class is for, so a
driver has to apply it to all of its devices in the claim.

## Source

kubernetes/kubernetes#134789, fixed in 1.34.2 and 1.35
"""

from dractl.lint.configs import configurations_of
from dractl.lint.model import Advice, Found, Run

SEVERITY = "info"
KINDS = ("DeviceClass",)
FIELDS = ("config",)


def check(run: Run) -> Found:
    if run.target.has("class-config-by-request"):
        return
    for claim in run.claims:
        for name in dict.fromkeys(request.device_class for request in claim.alternatives):
            of_class = run.device_class(name)
            for config in configurations_of(of_class) if of_class is not None else ():
                for request in claim.alternatives:
                    other = request.device_class
                    if (
                        config.driver
                        and other != name
                        and run.driver_of_class(other) == config.driver
                    ):
                        yield Advice(
                            claim.subject,
                            (*request.path, "deviceClassName"),
                            f"{config.driver} gets the configuration of class {name} for request "
                            f"{request.reference} too",
                            help="move the request to its own claim",
                            related=(
                                (
                                    f"the configuration of class {name}",
                                    config.subject,
                                    config.path[:-1],
                                ),
                            ),
                        )

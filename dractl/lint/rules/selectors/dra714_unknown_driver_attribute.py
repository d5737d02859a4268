"""A selector reads an attribute or capacity that the driver does not publish.

## What it does

Looks up the names in selectors in the catalogue of the driver: the driver of the class if it is
known (from the run, or installed by a known driver), else the one that the selector names, else the
one that owns the domain. Reports names that no version of the driver publishes and that are not a
near miss (DRA713). If `--devices` has devices of the driver, those are checked instead (DRA751).

## Why is this bad

Nobody checks that an attribute exists. On a device without it the selector is an error, which stops
the scheduling of the pod on all nodes; with a guard it never matches.

## Example

```diff
 apiVersion: resource.k8s.io/v1
 kind: ResourceClaim
 metadata: {name: gpus}
 spec:
   devices:
     requests:
     - name: gpu
       exactly:
         deviceClassName: gpu.nvidia.com
         selectors:
         - cel:
-            expression: 'device.attributes["gpu.nvidia.com"].model == "H100"'
+            expression: device.attributes["gpu.nvidia.com"].productName == "NVIDIA H100 80GB HBM3"
```

## Source

The catalogues of dractl/drivers, each with its driver's source: `dractl rule DRIVER`
"""

from dractl.lint.model import Found, Run
from dractl.lint.published import Read, in_domain, nearest_published, reads
from dractl.lint.standard import STANDARD_DOMAIN, guess_standard
from dractl.program import program_name

SEVERITY = "warning"
KINDS = ("ResourceClaim", "ResourceClaimTemplate", "DeviceClass")
ALONE = True
_WORDS = {"attributes": "attribute", "capacity": "capacity"}


def check(run: Run) -> Found:
    reported = set()
    for read in reads(run):
        lookup, driver = read.lookup, read.driver
        place = (id(read.selection.subject), read.expression.path, lookup.kind, lookup.full_name)
        if (
            read.row is None
            and lookup.domain in driver.domains
            and place not in reported
            and not _is_reported_elsewhere(read)
        ):
            reported.add(place)
            message = f"{driver.name} publishes no {_WORDS[lookup.kind]} {lookup.full_name}"
            # After || or in ?:, another condition may decide.
            if not any(sign in read.program.text for sign in ("||", " ? ")):
                message += (
                    ": the selector "
                    f"{'never matches' if read.guarded else 'fails on each of its devices'}"
                )
            added = driver.fact.extension and lookup.kind == "attributes"
            message += f", unless {driver.fact.extension} adds it" if added else ""
            command = f"`{program_name()} rule {driver.name}`"
            help_ = f"{_describe_domain(read)} ({driver.known_to}); {command} describes them"
            yield driver.soften(
                read.advice(message, help_, severity="info" if added and read.guarded else None)
            )


def _is_reported_elsewhere(read: Read) -> bool:
    """Return True for names that DRA701 and DRA713 report, and for names that an administrator may
    have added.

    The two rules report names that resemble others, and capacities that are looked up as
    attributes.
    """
    lookup = read.lookup
    if not read.driver.fact.complete or read.guessed:
        return True
    if lookup.domain == STANDARD_DOMAIN:
        return guess_standard(lookup.domain, lookup.name or "") is not None
    names = in_domain(lookup.domain)
    if not names:
        return False
    other = "capacity" if lookup.kind == "attributes" else "attributes"
    near = nearest_published(lookup.kind, lookup.domain, lookup.name or "")
    return near is not None or lookup.name in names[other]


def _describe_domain(read: Read) -> str:
    domain = f"{read.lookup.domain}/"
    rows = [
        row for name, row in read.driver.rows(read.lookup.kind).items() if name.startswith(domain)
    ]
    current = [row.name.removeprefix(domain) for row in rows if read.driver.last_with(row) is None]
    if not current:
        return f"its devices have no {read.lookup.kind} in that domain"
    return f"its devices have {', '.join(current[:12])}" + (" ..." if len(current) > 12 else "")

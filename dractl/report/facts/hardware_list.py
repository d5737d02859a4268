"""The machines that ``--hardware`` knows by name, with the certainty of their values, as text and
JSON.
"""

import json
from typing import Any

from dractl.facts import hardware
from dractl.machines import described, labels_of, names
from dractl.machines.products import products
from dractl.report.canvas import Canvas

SCHEMA = "dractl/hardware/v1"


def to_json() -> str:
    """Return every machine with its evidence, and every product with its kind."""
    machines = [_machine(name) for name in names.every()]
    products_known = [
        {"name": product.name, "kind": product.kind} for product in products().values()
    ]
    return json.dumps(
        {
            "schema": SCHEMA,
            "folder": str(hardware.machines_folder()),
            "machines": machines,
            "products": products_known,
        },
        indent=1,
        ensure_ascii=False,
    )


def _machine(name: str) -> dict[str, Any]:
    layout = described.load(name)
    evidence = [
        {"of": item.of, "sure": item.sure, "source": item.source} for item in layout.evidence
    ]
    names_of_machine = {"name": name, "title": layout.title, "aliases": list(names.aliases(name))}
    return {**names_of_machine, "labels": labels_of(name), "evidence": evidence}


def to_text(canvas: Canvas) -> str:
    """Return one line for each machine: its name, its hardware, and its derived values."""
    machine_names = names.every()
    wide = max(map(len, machine_names))
    lines = []
    for name in machine_names:
        layout = described.load(name)
        derived = ", ".join(item.of for item in layout.evidence if item.sure == "derived")
        remarks = [f"derived: {derived}"] if derived else []
        remarks += ["wiring unknown"] if not all(root.is_wired for root in layout.roots) else []
        remark = f" ({'; '.join(remarks)})" if remarks else ""
        lines.append(f"{name:<{wide}}  {layout.title}{remark}")
    kinds: dict[str, list[str]] = {}
    for product in products().values():
        kinds.setdefault(product.kind, []).append(product.name)
    lines += ["", "Products, for lines such as 8xH100,8xnic:"]
    lines += [f"  {kind:<11}  {', '.join(held)}" for kind, held in kinds.items()]
    lines += ["", f"Files: {hardware.machines_folder()}"]
    return canvas.plain("\n".join(lines))

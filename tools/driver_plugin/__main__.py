"""The command line: see the package."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import yaml

from tools.driver_plugin import __doc__ as description
from tools.driver_plugin.checks import Session, run_checks
from tools.driver_plugin.cluster import Cluster
from tools.driver_plugin.process import Driver

KUBELET_SECONDS = 45
"""kubernetes/kubernetes pkg/kubelet/cm/dra/plugin/dra_plugin.go defaultClientCallTimeout."""


def parse() -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--kubelet-root", type=Path, required=True, help="where the driver registers"
    )
    parser.add_argument("--cdi-root", type=Path, default=Path("/var/run/cdi"))
    parser.add_argument("--kubeconfig", type=Path, required=True, help="of a test cluster")
    parser.add_argument("--namespace", default="default", help="where claims are made")
    parser.add_argument("--node", default="node-1")
    parser.add_argument("--call-seconds", type=float, default=KUBELET_SECONDS)
    parser.add_argument("--start-seconds", type=float, default=30)
    parser.add_argument("--log", type=Path, help="where the driver's output goes")
    parser.add_argument(
        "--snapshots", type=Path, help="folder for what it published, for check-driver"
    )
    parser.add_argument("--json", action="store_true", help="one line of JSON a check")
    parser.add_argument("command", nargs="+", help="the driver and its arguments, after --")
    return parser.parse_args()


def main() -> int:
    """Run the checks and print their results; 1 if one has failed."""
    options = parse()
    log = options.log or Path(tempfile.mkstemp(suffix=".log")[1])
    driver = Driver(options.command, options.kubelet_root, log, options.start_seconds)
    cluster = Cluster(options.kubeconfig, options.namespace)
    session = Session(driver, cluster, options.node, options.cdi_root, options.call_seconds)
    failed = False
    try:
        for result in run_checks(session):
            failed = failed or result.status == "failed"
            if options.json:
                line = json.dumps(
                    {"id": result.id, "status": result.status, "message": result.message}
                )
            else:
                line = f"{result.status:8} {result.id}" + (
                    f": {result.message}" if result.message else ""
                )
            print(line, flush=True)
    finally:
        driver.kill()
        cluster.delete_claims()
        if options.snapshots:
            write_snapshots(session, options.snapshots)
    return int(failed)


def write_snapshots(session: Session, folder: Path) -> None:
    """Write what the driver published, a file for each time it was read."""
    folder.mkdir(parents=True, exist_ok=True)
    for index, slices in enumerate(session.snapshots):
        text = yaml.safe_dump_all(slices, sort_keys=False)
        (folder / f"{index}.yaml").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

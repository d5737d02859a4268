"""The rules of lint: code, name, severity, violations that it reports, kinds that it looks at.

Made by tools/make_docs.py from the files in rules/; not to be edited.
"""

from __future__ import annotations

# fmt: off
INDEX: tuple[tuple[str, str, str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("DRA001", "unreadable-document", "error", (), ()),
    ("DRA002", "wrong-type", "error", ("wrong-type",), ()),
    ("DRA003", "unknown-field", "error", ("unknown-field",), ()),
    ("DRA004", "duplicate-key", "error", ("duplicate-key",), ()),
    ("DRA101", "too-many-items", "error", ("RC-01", "DC-06"), ()),
    ("DRA102", "duplicate-request-name", "error", ("RC-02",), ()),
    ("DRA103", "invalid-request-name", "error", ("RC-03",), ()),
    ("DRA104", "request-without-content", "error", ("RC-04",), ()),
    ("DRA105", "exactly-and-first-available", "error", ("RC-05",), ()),
    ("DRA106", "invalid-first-available", "error", ("RC-06",), ()),
    ("DRA107", "invalid-subrequest-name", "error", ("RC-07",), ()),
    ("DRA108", "missing-device-class-name", "error", ("RC-08",), ()),
    ("DRA109", "invalid-device-class-name", "error", ("RC-09",), ()),
    ("DRA110", "too-many-selectors", "error", ("RC-10", "DC-01"), ()),
    ("DRA111", "selector-without-cel", "error", ("RC-11", "DC-02"), ()),
    ("DRA112", "cel-too-long", "error", ("RC-12", "DC-03"), ()),
    ("DRA113", "cel-does-not-compile", "error", ("RC-13", "DC-04"), ()),
    ("DRA114", "cel-too-costly", "error", ("RC-14", "DC-05"), ()),
    ("DRA115", "count-with-all", "error", ("RC-15",), ()),
    ("DRA116", "count-not-positive", "error", ("RC-16",), ()),
    ("DRA117", "unknown-allocation-mode", "error", ("RC-17",), ()),
    ("DRA118", "invalid-toleration", "error", ("RC-18",), ()),
    ("DRA119", "admin-access-not-allowed", "error", ("RC-19",), ()),
    ("DRA120", "invalid-constraint-requests", "error", ("RC-20",), ()),
    ("DRA121", "unknown-request-reference", "error", ("RC-21",), ()),
    ("DRA122", "invalid-match-attribute", "error", ("RC-22",), ()),
    ("DRA123", "invalid-distinct-attribute", "error", ("RC-23",), ()),
    ("DRA124", "constraint-without-attribute", "error", ("RC-24",), ()),
    ("DRA125", "invalid-config-requests", "error", ("RC-25",), ()),
    ("DRA126", "config-without-opaque", "error", ("RC-26", "DC-07"), ()),
    ("DRA127", "invalid-config-driver", "error", ("RC-27", "DC-08"), ()),
    ("DRA128", "missing-parameters", "error", ("RC-28", "DC-09"), ()),
    ("DRA129", "parameters-too-long", "error", ("RC-29", "DC-10"), ()),
    ("DRA130", "parameters-not-an-object", "error", ("RC-30", "DC-11"), ()),
    ("DRA131", "invalid-derived-attribute", "error", ("RC-31",), ()),
    ("DRA132", "unused-derived-attribute", "error", ("RC-32",), ()),
    ("DRA133", "derived-attributes-too-costly", "error", ("RC-33",), ()),
    ("DRA199", "rejected", "error", (), ()),
    ("DRA801", "not-served", "error", ("not-served",), ()),
    ("DRA802", "field-dropped", "warning", ("dropped-field",), ()),
    ("DRA803", "served-on-demand", "warning", ("served-on-demand",), ()),
    ("DRA901", "unused-ignore", "warning", (), ()),
    ("DRA902", "unknown-ignore", "warning", (), ()),
)
# fmt: on

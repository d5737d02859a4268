"""A slice has too many devices.

## What it does

A slice has at most 128 devices; 64 if any has taints or consumes counters (since 1.35) or has a list as an attribute
(since 1.36).

## Why is this bad

The API server rejects the slice, so the driver cannot publish its devices.

## Example

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node-1-gpu}
spec:
  driver: gpu.example.com
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  nodeName: node-1
  devices:
  - name: gpu-0
  - name: gpu-1
  - name: gpu-2
  - name: gpu-3
  - name: gpu-4
  - name: gpu-5
  - name: gpu-6
  - name: gpu-7
  - name: gpu-8
  - name: gpu-9
  - name: gpu-10
  - name: gpu-11
  - name: gpu-12
  - name: gpu-13
  - name: gpu-14
  - name: gpu-15
  - name: gpu-16
  - name: gpu-17
  - name: gpu-18
  - name: gpu-19
  - name: gpu-20
  - name: gpu-21
  - name: gpu-22
  - name: gpu-23
  - name: gpu-24
  - name: gpu-25
  - name: gpu-26
  - name: gpu-27
  - name: gpu-28
  - name: gpu-29
  - name: gpu-30
  - name: gpu-31
  - name: gpu-32
  - name: gpu-33
  - name: gpu-34
  - name: gpu-35
  - name: gpu-36
  - name: gpu-37
  - name: gpu-38
  - name: gpu-39
  - name: gpu-40
  - name: gpu-41
  - name: gpu-42
  - name: gpu-43
  - name: gpu-44
  - name: gpu-45
  - name: gpu-46
  - name: gpu-47
  - name: gpu-48
  - name: gpu-49
  - name: gpu-50
  - name: gpu-51
  - name: gpu-52
  - name: gpu-53
  - name: gpu-54
  - name: gpu-55
  - name: gpu-56
  - name: gpu-57
  - name: gpu-58
  - name: gpu-59
  - name: gpu-60
  - name: gpu-61
  - name: gpu-62
  - name: gpu-63
  - name: gpu-64
  - name: gpu-65
  - name: gpu-66
  - name: gpu-67
  - name: gpu-68
  - name: gpu-69
  - name: gpu-70
  - name: gpu-71
  - name: gpu-72
  - name: gpu-73
  - name: gpu-74
  - name: gpu-75
  - name: gpu-76
  - name: gpu-77
  - name: gpu-78
  - name: gpu-79
  - name: gpu-80
  - name: gpu-81
  - name: gpu-82
  - name: gpu-83
  - name: gpu-84
  - name: gpu-85
  - name: gpu-86
  - name: gpu-87
  - name: gpu-88
  - name: gpu-89
  - name: gpu-90
  - name: gpu-91
  - name: gpu-92
  - name: gpu-93
  - name: gpu-94
  - name: gpu-95
  - name: gpu-96
  - name: gpu-97
  - name: gpu-98
  - name: gpu-99
  - name: gpu-100
  - name: gpu-101
  - name: gpu-102
  - name: gpu-103
  - name: gpu-104
  - name: gpu-105
  - name: gpu-106
  - name: gpu-107
  - name: gpu-108
  - name: gpu-109
  - name: gpu-110
  - name: gpu-111
  - name: gpu-112
  - name: gpu-113
  - name: gpu-114
  - name: gpu-115
  - name: gpu-116
  - name: gpu-117
  - name: gpu-118
  - name: gpu-119
  - name: gpu-120
  - name: gpu-121
  - name: gpu-122
  - name: gpu-123
  - name: gpu-124
  - name: gpu-125
  - name: gpu-126
  - name: gpu-127
  - name: gpu-128
```

## Use instead

```yaml
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node-1-gpu}
spec:
  driver: gpu.example.com
  pool: {name: node-1, generation: 1, resourceSliceCount: 1}
  nodeName: node-1
  devices:
  - name: gpu-0
    attributes:
      model: {string: A100}
```

## Source

RS-12; kubernetes/kubernetes pkg/apis/resource/validation/validation.go validateResourceSliceSpec
"""

from __future__ import annotations

SEVERITY = "error"
SERVER = ("RS-12",)

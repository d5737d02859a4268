// Command allocator asks upstream's structured allocator, as kube-scheduler does, whether a pending pod's claim can be
// allocated on each node of a dump, and prints how many nodes it fits on:
//
//	allocator DUMP.json POD
//
// It is what `dractl explain -f DUMP.json pod/POD` is measured beside. It says nothing about why a node does not fit.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	corev1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

type classes map[string]*resourceapi.DeviceClass

func (c classes) List() ([]*resourceapi.DeviceClass, error) {
	var found []*resourceapi.DeviceClass
	for _, class := range c {
		found = append(found, class)
	}
	return found, nil
}

func (c classes) Get(name string) (*resourceapi.DeviceClass, error) {
	if class, ok := c[name]; ok {
		return class, nil
	}
	return nil, fmt.Errorf("no class %s", name)
}

// cluster is what the allocator needs of a dump.
type cluster struct {
	nodes     []*corev1.Node
	slices    []*resourceapi.ResourceSlice
	classes   classes
	templates map[string]*resourceapi.ResourceClaimTemplate
	pods      map[string]*corev1.Pod
	allocated sets.Set[structured.DeviceID]
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(3)
	}
}

func decoded[T any](raw json.RawMessage) *T {
	into := new(T)
	check(json.Unmarshal(raw, into))
	return into
}

func read(path string) cluster {
	data, err := os.ReadFile(path)
	check(err)
	var list struct{ Items []json.RawMessage }
	check(json.Unmarshal(data, &list))
	c := cluster{
		classes:   classes{},
		templates: map[string]*resourceapi.ResourceClaimTemplate{},
		pods:      map[string]*corev1.Pod{},
		allocated: sets.New[structured.DeviceID](),
	}
	for _, raw := range list.Items {
		switch decoded[metav1.TypeMeta](raw).Kind {
		case "Node":
			c.nodes = append(c.nodes, decoded[corev1.Node](raw))
		case "ResourceSlice":
			c.slices = append(c.slices, decoded[resourceapi.ResourceSlice](raw))
		case "DeviceClass":
			class := decoded[resourceapi.DeviceClass](raw)
			c.classes[class.Name] = class
		case "ResourceClaimTemplate":
			template := decoded[resourceapi.ResourceClaimTemplate](raw)
			c.templates[template.Name] = template
		case "Pod":
			pod := decoded[corev1.Pod](raw)
			c.pods[pod.Name] = pod
		case "ResourceClaim":
			claim := decoded[resourceapi.ResourceClaim](raw)
			if claim.Status.Allocation == nil {
				continue
			}
			for _, result := range claim.Status.Allocation.Devices.Results {
				c.allocated.Insert(structured.MakeDeviceID(result.Driver, result.Pool, result.Device))
			}
		}
	}
	return c
}

// claimsOf makes the claims that the controller would make for a pod. Defaults are those of the API server.
func (c cluster) claimsOf(pod *corev1.Pod) []*resourceapi.ResourceClaim {
	var made []*resourceapi.ResourceClaim
	for _, entry := range pod.Spec.ResourceClaims {
		template := c.templates[*entry.ResourceClaimTemplateName]
		made = append(made, &resourceapi.ResourceClaim{
			ObjectMeta: metav1.ObjectMeta{Name: pod.Name + "-" + entry.Name, Namespace: pod.Namespace},
			Spec:       template.Spec.Spec,
		})
	}
	return made
}

func main() {
	c := read(os.Args[1])
	claims := c.claimsOf(c.pods[os.Args[2]])
	ctx := context.Background()
	state := structured.AllocatedState{
		AllocatedDevices:         c.allocated,
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	features := structured.Features{ // the defaults of the release
		AdminAccess: true, DeviceTaints: true, PartitionableDevices: true, PrioritizedList: true,
		ConsumableCapacity: true, DeviceBindingAndStatus: true,
	}
	allocator, err := structured.NewAllocator(
		ctx, features, state, c.classes, c.slices, cel.NewCache(10, cel.Features{EnableConsumableCapacity: true}))
	check(err)
	fits := 0
	for _, node := range c.nodes {
		found, err := allocator.Allocate(ctx, node, claims)
		check(err)
		if found != nil {
			fits++
		}
	}
	fmt.Println(fits, "of", len(c.nodes), "nodes")
}

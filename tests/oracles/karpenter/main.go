// The provisioner of Karpenter on NodePools, NodeClaims and pods: which pool brings a node, and of which types. See ../README.md.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	awsapis "github.com/aws/karpenter-provider-aws/pkg/apis/v1"
	"github.com/aws/karpenter-provider-aws/pkg/providers/efadra"
	"github.com/aws/karpenter-provider-aws/pkg/providers/nvidiadra"
	"github.com/awslabs/operatorpkg/status"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
	"sigs.k8s.io/karpenter/pkg/cloudprovider"
	"sigs.k8s.io/karpenter/pkg/controllers/dynamicresources/deviceallocation"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning"
	"sigs.k8s.io/karpenter/pkg/controllers/provisioning/scheduling"
	"sigs.k8s.io/karpenter/pkg/controllers/state"
	"sigs.k8s.io/karpenter/pkg/events"
	"sigs.k8s.io/karpenter/pkg/operator/options"
	requirements "sigs.k8s.io/karpenter/pkg/scheduling"
	"sigs.k8s.io/karpenter/pkg/state/virtualpods"
)

type question struct {
	ID         any
	Pods       []*corev1.Pod
	Claims     []*resourcev1.ResourceClaim
	Classes    []*resourcev1.DeviceClass
	NodePools  []*karpv1.NodePool
	NodeClaims []*karpv1.NodeClaim
	Nodes      []*corev1.Node
	Types      map[string]instanceType
}

// What the cloud says of an instance type. It is offered in every zone with every capacity type.
type instanceType struct {
	Labels        map[string]string
	Capacity      corev1.ResourceList
	Zones         []string
	CapacityTypes []string
}

type answer struct {
	ID         any               `json:"id"`
	NodeClaims []launch          `json:"nodeClaims"`
	Existing   []string          `json:"existing"`
	Errors     map[string]string `json:"errors"`
}

type launch struct {
	Pool  string   `json:"pool"`
	Types []string `json:"types"`
}

// A cloud that knows instance types and launches nothing.
type cloud struct {
	cloudprovider.CloudProvider
	types map[string]instanceType
}

func (cloud) Name() string { return "aws" }
func (cloud) GetSupportedNodeClasses() []status.Object {
	return []status.Object{&awsapis.EC2NodeClass{}}
}
func (cloud) RepairPolicies() []cloudprovider.RepairPolicy { return nil }

func (c cloud) GetInstanceTypes(ctx context.Context, _ *karpv1.NodePool) ([]*cloudprovider.InstanceType, error) {
	var all []*cloudprovider.InstanceType
	for _, name := range slices.Sorted(maps.Keys(c.types)) {
		all = append(all, c.types[name].described(name))
	}
	mode, err := nvidiadra.ParseConsumableCapacity("")
	if err != nil {
		return nil, err
	}
	gpu := nvidiadra.NewDefaultProvider().ResolveDynamicResources(ctx, all, mode)
	efa := efadra.NewDefaultProvider().ResolveDynamicResources(ctx, all)
	for _, it := range all { // as populateDynamicResources with the gates DRANVIDIAGPU and DRAEFA on
		for _, r := range []cloudprovider.DynamicResources{gpu[it.Name], efa[it.Name]} {
			it.DynamicResources.ResourceSliceTemplates = append(it.DynamicResources.ResourceSliceTemplates, r.ResourceSliceTemplates...)
			it.DynamicResources.AttributeBindings = append(it.DynamicResources.AttributeBindings, r.AttributeBindings...)
		}
	}
	return all, nil
}

// As computeRequirements of the provider does: a well-known label without a value does not exist.
func (t instanceType) described(name string) *cloudprovider.InstanceType {
	has := requirements.NewLabelRequirements(t.Labels)
	has.Add(
		requirements.NewRequirement(corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpIn, name),
		requirements.NewRequirement(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, t.Zones...),
		requirements.NewRequirement(karpv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, t.CapacityTypes...),
	)
	for key := range karpv1.WellKnownLabels {
		if !has.Has(key) && key != karpv1.NodePoolLabelKey && key != corev1.LabelTopologyRegion && key != awsapis.LabelTopologyZoneID && key != awsapis.LabelInstanceTenancy {
			has.Add(requirements.NewRequirement(key, corev1.NodeSelectorOpDoesNotExist))
		}
	}
	capacity := t.Capacity.DeepCopy()
	capacity[corev1.ResourcePods] = resource.MustParse("110")
	it := &cloudprovider.InstanceType{Name: name, Requirements: has, Capacity: capacity, Overhead: &cloudprovider.InstanceTypeOverhead{}}
	for _, zone := range t.Zones {
		for _, kind := range t.CapacityTypes {
			it.Offerings = append(it.Offerings, &cloudprovider.Offering{
				Available: true,
				Price:     1,
				Requirements: requirements.NewLabelRequirements(map[string]string{
					corev1.LabelTopologyZone: zone, karpv1.CapacityTypeLabelKey: kind,
				}),
			})
		}
	}
	return it
}

type silence struct{}

func (silence) Publish(...events.Event) {}

// The API server with the objects of a question, and the indices that Karpenter's operator sets up.
func (q question) server() client.Client {
	server := fake.NewClientBuilder().WithScheme(scheme.Scheme).
		WithIndex(&corev1.Pod{}, "spec.nodeName", func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} })
	for _, o := range q.Pods {
		server.WithObjects(o)
	}
	for _, o := range q.Claims {
		server.WithObjects(o)
	}
	for _, o := range q.Classes {
		server.WithObjects(o)
	}
	for _, o := range q.NodePools {
		if len(o.Status.Conditions) == 0 {
			o.StatusConditions().SetTrue(karpv1.ConditionTypeValidationSucceeded)
			o.StatusConditions().SetTrue(karpv1.ConditionTypeNodeClassReady)
			o.StatusConditions().SetTrue(status.ConditionReady)
		}
		server.WithObjects(o)
	}
	return server.Build()
}

func (q question) ask(ctx context.Context) (scheduling.Results, error) {
	server := q.server()
	provider := cloud{types: q.Types}
	cluster := state.NewCluster(clock.RealClock{}, server, provider)
	for _, claim := range q.NodeClaims {
		cluster.UpdateNodeClaim(claim)
	}
	for _, node := range q.Nodes {
		if err := cluster.UpdateNode(ctx, node); err != nil {
			return scheduling.Results{}, err
		}
	}
	allocated := deviceallocation.NewController(server)
	allocated.Hydrate(ctx)
	p := provisioning.NewProvisioner(server, silence{}, provider, cluster, clock.RealClock{}, allocated, virtualpods.NewVirtualPodCache(server))
	return p.Schedule(ctx)
}

func summary(id any, results scheduling.Results) answer {
	out := answer{ID: id, NodeClaims: []launch{}, Existing: []string{}, Errors: map[string]string{}}
	for _, claim := range results.NewNodeClaims {
		var names []string
		for _, it := range claim.InstanceTypeOptions {
			names = append(names, it.Name)
		}
		slices.Sort(names)
		out.NodeClaims = append(out.NodeClaims, launch{claim.NodePoolName, names})
	}
	for _, node := range results.ExistingNodes {
		if len(node.Pods) > 0 {
			out.Existing = append(out.Existing, node.NodeClaim.Name)
		}
	}
	for pod, err := range results.PodErrors {
		out.Errors[pod.Name] = strings.ReplaceAll(err.Error(), "\n", " ")
	}
	return out
}

func main() {
	ctx := options.ToContext(context.Background(), &options.Options{
		CPURequests: 1000, MinValuesPolicy: options.MinValuesPolicyStrict, PreferencePolicy: options.PreferencePolicyRespect,
		BatchIdleDuration: time.Second, BatchMaxDuration: 10 * time.Second,
	})
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	in := json.NewDecoder(os.Stdin)
	for in.More() {
		var q question
		err := in.Decode(&q)
		var results scheduling.Results
		if err == nil {
			results, err = q.ask(ctx)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "karpenter-pools:", err)
			os.Exit(2)
		}
		out.Encode(summary(q.ID, results))
	}
}

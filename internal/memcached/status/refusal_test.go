// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"
	"unicode/utf8"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
)

// TestRefusalReason has messages from the source code of Kubernetes 1.37 and of OpenShift.
func TestRefusalReason(t *testing.T) {
	const (
		pod     = `pods "cache-5d4f8b-x7x2k" is forbidden: `
		quota   = cachev1alpha1.ReasonQuotaExceeded
		denied  = cachev1alpha1.ReasonAdmissionDenied
		another = cachev1alpha1.ReasonApplyFailed
	)
	for _, c := range []struct{ reason, message string }{
		// k8s.io/apiserver/pkg/admission/plugin/resourcequota/controller.go
		{quota, pod + "exceeded quota: pods, requested: pods=1, used: pods=3, limited: pods=3"},
		{quota, `services "cache" is forbidden: exceeded quota: services, requested: services=1, used: services=5, limited: services=5`},
		{quota, pod + "failed quota: compute: must specify limits.cpu for: memcached; requests.cpu for: memcached"},
		{quota, pod + "status unknown for quota: compute, resources: limits.memory,pods"},
		{quota, pod + "insufficient quota to consume: pods"},
		{quota, pod + "insufficient quota to match these scopes: [{PriorityClass In [cluster-services]}]"},
		// k8s.io/pod-security-admission/admission/admission.go
		{denied, pod + `violates PodSecurity "restricted:latest": unrestricted capabilities (container "proxy" must set securityContext.capabilities.drop=["ALL"])`},
		// k8s.io/apiserver/pkg/admission/plugin/webhook/errors/statuserror.go
		{denied, `admission webhook "policy.example.com" denied the request: images must come from registry.example.com`},
		{denied, `admission webhook "policy.example.com" denied the request without explanation`},
		{denied, `admission webhook "policy.example.com" does not support dry run`},
		// k8s.io/apiserver/pkg/util/webhook/error.go, wrapped by the dispatchers
		{denied, `Internal error occurred: failed calling webhook "policy.example.com": failed to call webhook: Post "https://policy.example.svc:443/?timeout=10s": dial tcp 10.96.0.9:443: connect: connection refused`},
		{denied, `Internal error occurred: failed calling webhook "policy.example.com"; no further details available`},
		// k8s.io/apiserver/pkg/admission/plugin/policy/validating/dispatcher.go
		{denied, pod + "ValidatingAdmissionPolicy 'registry' with binding 'all' denied request: failed expression: object.spec.containers.all(c, c.image.startsWith('registry.example.com/'))"},
		{denied, `deployments.apps "cache" is forbidden: ValidatingAdmissionPolicy 'registry' denied request: no such key: replicas`},
		// k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_dispatcher.go, of MutatingAdmissionPolicies
		{denied, pod + "policy 'sidecar' with binding 'all' denied request: failed to configure binding: params not found"},
		{denied, pod + `policy "sidecar" denied request: no such key: containers`},
		// k8s.io/kubernetes/plugin/pkg/admission/limitranger/admission.go
		{denied, pod + "minimum memory usage per Container is 1Gi.  No request is specified"},
		{denied, pod + "minimum memory usage per Container is 1Gi, but request is 198Mi"},
		{denied, pod + "minimum cpu usage per Pod is 1, but limit is 500m"},
		{denied, pod + "maximum memory usage per Container is 128Mi, but limit is 198Mi"},
		{denied, pod + "maximum cpu usage per Pod is 1.  No limit is specified"},
		{denied, pod + "memory max limit to request ratio per Container is 1, but provided ratio is 2.000000"},
		{denied, pod + "[maximum cpu usage per Container is 1, but limit is 2, maximum memory usage per Pod is 128Mi, but limit is 198Mi]"},
		// openshift/apiserver-library-go/pkg/securitycontextconstraints/sccadmission/admission.go
		{denied, pod + `unable to validate against any security context constraint: [provider "anyuid": Forbidden: not usable by user or serviceaccount]`},
		// Others: RBAC, PriorityClass, validation, an error of etcd, and an empty message.
		{another, `deployments.apps "cache" is forbidden: User "system:serviceaccount:operator:manager" cannot patch resource "deployments" in API group "apps" in the namespace "shop"`},
		{denied, pod + "no PriorityClass with name cache-critical was found"},
		{another, `Pod "cache-5d4f8b-x7x2k" is invalid: spec.containers[0].image: Required value`},
		{another, "etcdserver: request timed out"},
		{another, ""},
	} {
		if reason := RefusalReason(c.message); reason != c.reason {
			t.Errorf("%s, not %s, is the reason for %q", reason, c.reason, c.message)
		}
	}
}

// TestMessagesStayTheSame has refusals of pods that differ only in the generated names of the pods. The messages of the conditions
// must not differ, since a new message would cause a write of the status at every retry.
func TestMessagesStayTheSame(t *testing.T) {
	mc := memcachedtest.Cache(3)
	for _, refusal := range []string{
		`pods "NAME" is forbidden: exceeded quota: pods, requested: pods=1, used: pods=2, limited: pods=2`,
		`pods "NAME" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true`,
		`Pod "NAME" is invalid: spec.tolerations[0].operator: Invalid value: "Is"`,
	} {
		messages := map[string]bool{}
		for _, name := range []string{"cache-5d4f-aaaaa", "cache-5d4f-zzzzz"} {
			deployment := makeDeployment(t, mc, settled, refused(strings.ReplaceAll(refusal, "NAME", name)))
			for _, condition := range statusOf(mc, memcached.Observed{Children: memcachedtest.Children(deployment)}, memcached.Written{}, noon).Conditions {
				if strings.Contains(condition.Message, name) {
					t.Errorf("%s names a pod that does not exist: %s", condition.Type, condition.Message)
				}
				messages[condition.Type+condition.Message] = true
			}
		}
		if len(messages) != 5 {
			t.Errorf("the messages depend on the generated name: %v", messages)
		}
	}
}

func TestMessagesAreBounded(t *testing.T) {
	mc := memcachedtest.Cache(3)
	for name, message := range map[string]string{
		"long":           strings.Repeat("x", 5000),
		"long in bytes":  strings.Repeat("€", 5000),
		"just in bounds": strings.Repeat("x", 1024),
		"invalid UTF-8":  strings.Repeat("\xff", 5000),
	} {
		written := memcached.Written{Problem: &memcached.Problem{Reason: cachev1alpha1.ReasonApplyFailed, Message: message}}
		degraded := conditionOf(statusOf(mc, memcached.Observed{}, written, noon), cachev1alpha1.ConditionDegraded)
		// The API server refuses an event with a longer note, and the event is lost.
		if length := len(degraded.Message); length > 1024 || length < 1024-utf8.UTFMax && !strings.HasPrefix(message, "\xff") {
			t.Errorf("%s: the message has %d bytes", name, length)
		}
		if !utf8.ValidString(degraded.Message) {
			t.Errorf("%s: the message is not UTF-8", name)
		}
	}
}

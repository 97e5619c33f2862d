// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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

// TestRemedies has messages of the API server, the scheduler and the kubelet, each with the fields of the spec that help, if some do. Each
// remedy of the table must be among them.
func TestRemedies(t *testing.T) {
	const (
		quota, denied, pull = cachev1alpha1.ReasonQuotaExceeded, cachev1alpha1.ReasonAdmissionDenied, cachev1alpha1.ReasonImagePullFailed
		nowhere, fails      = cachev1alpha1.ReasonUnschedulable, cachev1alpha1.ReasonNodesFailing
		invalid, unfilled   = cachev1alpha1.ReasonInvalidSpec, cachev1alpha1.ReasonNodesUnfilled
		nobody, exits       = "0/3 nodes are available: ", "memcached in pod cache-0 exited with code "
		sidecar             = "in a StatefulSet, spec.agent.resources"
		egress              = "Let NetworkPolicies that limit the egress of nodes allow the DNS (port 53) and the other nodes (port 11211)"
		nearer              = "Set requests and limits that differ less in spec.resources and, " + sidecar
		resources           = "Lower spec.config.memory, spec.resources, spec.size or, " + sidecar + "; or raise the quota"
	)
	used := map[string]bool{}
	for _, c := range []struct{ reason, message, advice string }{
		{quota, "failed quota: compute: must specify limits.cpu for: memcached", "Set these in spec.resources, and for memcached-agent in spec.agent.resources"},
		{quota, "exceeded quota: pods, requested: pods=1, used: pods=3, limited: pods=3", "Lower spec.size, or raise the quota"},
		{quota, "exceeded quota: memory, requested: limits.memory=198Mi, used: limits.memory=396Mi, limited: limits.memory=400Mi", resources},
		{quota, "exceeded quota: cpu, requested: requests.cpu=2, used: requests.cpu=3, limited: requests.cpu=4", resources},
		{quota, "exceeded quota: services, requested: services=1, used: services=5, limited: services=5", ""},
		// Memory cannot be below 64Mi: other fields help, down to a limit that no field can lower.
		{
			denied, "maximum memory usage per Container is 128Mi, but limit is 198Mi", "The memory limit follows from spec.config, unless " +
				"spec.resources sets it, and must be 129Mi at least: lower spec.config.memory, maxConnections or threads; or raise the maximum of the LimitRange",
		},
		{denied, "minimum memory usage per Container is 1Gi, but request is 16Mi", "Raise spec.resources and, " + sidecar + "; or lower the minimum of the LimitRange"},
		{denied, "minimum ephemeral-storage usage per Container is 1Gi.  No request is specified", "Raise spec.resources and, " + sidecar + "; or lower the minimum of the LimitRange"},
		{denied, "minimum cpu usage per Pod is 1, but limit is 500m", "Raise spec.resources and, " + sidecar + "; or lower the minimum of the LimitRange"},
		{denied, "maximum cpu usage per Pod is 1.  No limit is specified", "Set limits in spec.resources and, " + sidecar},
		{denied, "cpu max limit to request ratio per Container is 1, but provided ratio is 2", nearer},
		{denied, "ephemeral-storage max limit to request ratio per Container is 1, but no request is specified or request is 0", nearer},
		{denied, "no PriorityClass with name important was found", "Correct spec.scheduling.priorityClassName, or create the PriorityClass"},
		{denied, "policy 'sidecar' denied request: no", ""},
		{pull, "The image of memcached in pod cache-0 cannot be pulled: not found", "Check spec.image and, " + forLogins},
		{pull, "The image of memcached-agent in pod cache-0 cannot be pulled: no", "The operator names the image of the agent: check its registry and, " + forLogins},
		{pull, "The image of install-agent in pod cache-0 cannot be pulled: no", "The operator names the image of the agent: check its registry and, " + forLogins},
		{pull, "The image of istio-proxy in pod cache-0 cannot be pulled: no", ""},
		{fails, exits + "137 (OOMKilled)", "It needs more memory than its limit: raise spec.resources.limits.memory"},
		{
			fails, exits + "71 (Error)",
			"The container may open fewer files than spec.config.maxConnections needs: lower it, or allow more on the cluster node",
		},
		{fails, exits + `1 (Error), with the message "(OOMKilled)"`, ""},
		{fails, `Pod a cannot start: CreateContainerError: exec: "memcached": executable file not found in $PATH`, "The image has no memcached: correct spec.image"},
		{
			fails, exits + `128 (StartError), with the message "exec: '/run/parent/parent': permission denied"`, "The cluster node runs no programs " +
				"from volumes (noexec): change that, or keep the pods away with spec.scheduling. Only the nodes of a Deployment need no volume",
		},
		{invalid, "data: Forbidden: field is immutable when `immutable` is set", "Delete the ConfigMap: the operator creates it again"},
		{invalid, `spec.clusterIPs[0]: Invalid value: ["None"]: may not change once set`, "Delete the Service: the operator creates it again"},
		{unfilled, "dial tcp: lookup cache-b-0 on 10.96.0.10:53: i/o timeout", egress},
		{unfilled, "dial tcp 10.0.0.1:11211: connect: connection refused", egress},
		{unfilled, "it took longer than 1m0s", ""},
		{nowhere, nobody + "3 node(s) didn't match Pod's node affinity/selector.", "Correct spec.scheduling.nodeSelector or affinity, or label cluster nodes"},
		{nowhere, nobody + "3 node(s) had untolerated taint(s).", "Add spec.scheduling.tolerations"},
		{nowhere, nobody + "3 node(s) didn't match pod topology spread constraints.", "Relax spec.scheduling.topologySpreadConstraints, or add cluster nodes"},
		{nowhere, nobody + "3 node(s) didn't match pod anti-affinity rules.", "Add cluster nodes, or set spec.scheduling.affinity, to {} if copies may share one"},
		{
			nowhere, nobody + "1 Insufficient memory, 2 node(s) had untolerated taint(s).",
			"Lower spec.resources or spec.config.memory, or add cluster nodes. Add spec.scheduling.tolerations",
		},
		{nowhere, nobody + "3 node(s) were unschedulable.", ""},
	} {
		want := c.message
		if c.advice != "" {
			want = strings.TrimSuffix(c.message, ".") + ". " + c.advice
		}
		f := &facts{Written: memcached.Written{Problem: &memcached.Problem{Reason: c.reason, Message: c.message}}}
		if got := f.all(degraded).Message; got != leadToRunbook(" " + c.reason + ": " + want)[len(c.reason)+3:] {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		used[c.advice] = true
	}
	used["Lower spec.resources or spec.config.memory, or add cluster nodes"] = true // beside another remedy, above
	for _, row := range table {
		for _, remedy := range row.remedies {
			if !used[remedy.words] {
				t.Errorf("%s: no message has the remedy %q", row.reason, remedy.words)
			}
		}
	}
}

func TestNameSpecFields(t *testing.T) {
	for _, c := range []struct{ message, want string }{
		{
			`Deployment.apps "cache" is invalid: [spec.template.spec.tolerations[0].operator: Invalid value: "": operator must be Exists ` +
				`when key is empty, which means "match all values and all keys", spec.template.spec.nodeSelector: Invalid value: "a b"]`,
			`Deployment.apps "cache" is invalid: [spec.scheduling.tolerations[0].operator: Invalid value: "": operator must be Exists ` +
				`when key is empty, which means "match all values and all keys", spec.scheduling.nodeSelector: Invalid value: "a b"]`,
		},
		{
			`spec.template.spec.affinity.podAffinity.a: Required value, spec.template.spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0, ` +
				`spec.template.spec.priorityClassName: Invalid value: "A"`,
			`spec.scheduling.affinity.podAffinity.a: Required value, spec.scheduling.topologySpreadConstraints[0].maxSkew: Invalid value: 0, ` +
				`spec.scheduling.priorityClassName: Invalid value: "A"`,
		},
		{`spec.ingress[0].from[0]: Required value`, `spec.networkPolicy.from[0]: Required value`},
		{`spec.ingress[1].from[2].podSelector: Invalid value`, `spec.networkPolicy.metricsFrom[2].podSelector: Invalid value`},
		{`spec.template.labels: Invalid value: "a b"`, `spec.podMetadata.labels: Invalid value: "a b"`},
		{`Service "cache" is invalid: spec.ports[0].port: Invalid value: 0`, `Service "cache" is invalid: spec.ports[0].port: Invalid value: 0`},
	} {
		if got := NameSpecFields(c.message); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}

// TestRefusalOfAStatefulSet has a StatefulSet that lacks a node, and an event of its controller. The event counts unless something else
// explains why the node is missing, or the event is older than that.
func TestRefusalOfAStatefulSet(t *testing.T) {
	const refusal = `pods "cache-2" is forbidden: exceeded quota: pods, requested: pods=1, used: pods=2, limited: pods=2`
	unready := func(age time.Duration) func(*cachev1alpha1.Memcached) {
		return func(mc *cachev1alpha1.Memcached) {
			mc.Status.Conditions = []metav1.Condition{{Type: ready, Status: isNot, LastTransitionTime: metav1.NewTime(noon.Add(-age))}}
		}
	}
	for name, c := range map[string]struct {
		age     time.Duration
		changes []func(*cachev1alpha1.Memcached)
		set     func(*appsv1.StatefulSet)
		pods    []corev1.Pod
		event   int
		asks    bool
		told    string
	}{
		"it has lacked a node for five seconds": {5 * time.Second, nil, nil, setPods(2), -1, true, refusal},
		"it has lacked a node for one second":   {time.Second, nil, nil, setPods(2), 0, false, ""},
		"it has just been created":              {time.Hour, nil, func(s *appsv1.StatefulSet) { s.CreationTimestamp = at(-1) }, nil, 0, false, ""},
		"the event is older than the trouble":   {5 * time.Second, nil, nil, setPods(2), -60, true, ""},
		"a pod was created since":               {time.Hour, nil, nil, setPods(2, created(-30)), -60, true, ""},
		"all pods exist":                        {time.Hour, nil, nil, setPods(3, notReady), 0, false, ""},
		"a pod terminates":                      {time.Hour, nil, nil, append(setPods(2), setPod(2, terminating)), 0, false, ""},
		"another pod has no image":              {time.Hour, nil, nil, setPods(2, waiting("ErrImagePull", "no")), 0, false, ""},
		"its controller has not seen it":        {time.Hour, nil, changed, setPods(2), 0, false, ""},
		"the Memcached is being deleted":        {time.Hour, []func(*cachev1alpha1.Memcached){inDeletion}, nil, setPods(2), 0, false, ""},
		"the status has not said that it lacks one": {time.Hour, []func(*cachev1alpha1.Memcached){func(mc *cachev1alpha1.Memcached) {
			mc.Status.Conditions[0].Status = is
		}}, nil, setPods(2), 0, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			mc := memcachedtest.Cache(3, append([]func(*cachev1alpha1.Memcached){inStatefulSet, unready(c.age)}, c.changes...)...)
			set := makeStatefulSet(t, memcachedtest.Cache(3, inStatefulSet), setCounts(2, 2))
			if c.set != nil {
				c.set(set)
			}
			v := memcached.NewView(mc, withService(mc, memcached.Observed{Children: []client.Object{set}, Pods: c.pods}), noon)
			w := LacksPods(v)
			if (w != nil) != c.asks {
				t.Fatalf("asks: %v", w)
			}
			if !c.asks {
				return
			}
			v.Refused = RefusalIn(v, w, []eventsv1.Event{
				{Note: "create Pod cache-2 in StatefulSet cache failed error: " + refusal, DeprecatedLastTimestamp: at(c.event)},
				{Note: "something else", DeprecatedLastTimestamp: at(0)},
			}, nil)
			if v.Refused != c.told {
				t.Fatalf("refused: %q", v.Refused)
			}
			status := planned(v.With(v.Observed))
			want := strings.Replace("True QuotaExceeded: "+refusal+". Lower spec.size, or raise the quota", `"cache-2" `, "", 1)
			if told := conditionOf(status, degraded); c.told != "" && "True "+told.Reason+": "+told.Message != leadToRunbook(want) {
				t.Errorf("%s: %s", told.Reason, told.Message)
			}
		})
	}
}

// TestMessagesStayTheSame has refusals of pods that differ only in the generated names of the pods. The messages of the conditions
// must not differ, since a new message would cause a write of the status at every retry.
func TestMessagesStayTheSame(t *testing.T) {
	mc := memcachedtest.Cache(3)
	for _, refusal := range []string{
		`pods "NAME" is forbidden: exceeded quota: pods, requested: pods=1, used: pods=2, limited: pods=2`,
		`Pod "NAME" is invalid: spec.tolerations[0].operator: Invalid value: "Is"`,
	} {
		messages := map[string]bool{}
		for _, name := range []string{"cache-5d4f-aaaaa", "cache-5d4f-zzzzz"} {
			deployment := makeDeployment(t, mc, settled, refused(strings.ReplaceAll(refusal, "NAME", name)))
			for _, condition := range statusOf(mc, memcached.Observed{Children: memcachedtest.Children(deployment)}, memcached.Written{}, noon).Conditions {
				messages[condition.Type+condition.Message] = true
			}
		}
		if len(messages) != 5 {
			t.Errorf("the messages depend on the generated name: %v", messages)
		}
	}
}

// TestMessagesAreBounded has long messages: the API server refuses an event with a longer note. The link to the runbook stays.
func TestMessagesAreBounded(t *testing.T) {
	for reason, end := range map[string]string{cachev1alpha1.ReasonConflict: "…", cachev1alpha1.ReasonQuotaExceeded: "… See docs/operations/runbook.md#quotaexceeded"} {
		for _, text := range []string{"x", "€", "\xff"} {
			written := memcached.Written{Problem: &memcached.Problem{Reason: reason, Message: strings.Repeat(text, 5000)}}
			message := conditionOf(statusOf(memcachedtest.Cache(3), memcached.Observed{}, written, noon), degraded).Message
			if length := len(message); length > 1024 || length < 1024-utf8.UTFMax && text != "\xff" || !utf8.ValidString(message) {
				t.Errorf("%q: the message has %d bytes", text, length)
			}
			if text != "\xff" && !strings.HasSuffix(message, end) {
				t.Errorf("%q: the message ends with %s", text, message[len(message)-80:])
			}
		}
	}
}

// TestStatusIsPlainText has text of the cluster that controls a terminal or the direction of text.
func TestStatusIsPlainText(t *testing.T) {
	for text, want := range map[string]string{
		"a\nb":                               "a b",
		"a\r\n\tb":                           "a   b",
		"a\u2028b\u2029c\u0085d":             "a b c d",
		"\x1b[31mred\x1b[0m":                 "\uFFFD[31mred\uFFFD[0m",
		"nul\x00bell\x07del\x7fc1\u009b":     "nul\uFFFDbell\uFFFDdel\uFFFDc1\uFFFD",
		"\u202aa\u202bb\u202cc\u202dd\u202e": "\uFFFDa\uFFFDb\uFFFDc\uFFFDd\uFFFD",
		"\u2066a\u2067b\u2068c\u2069":        "\uFFFDa\uFFFDb\uFFFDc\uFFFD",
		"invalid \xff":                       "invalid \uFFFD",
		"größer, 大, العربية, 👍 — \"quoted\"": "größer, 大, العربية, 👍 — \"quoted\"",
	} {
		mc := memcachedtest.Cache(1)
		for path, c := range map[string]statusCase{
			"a refusal":  {written: memcached.Written{Problem: &memcached.Problem{Reason: cachev1alpha1.ReasonApplyFailed, Message: text}}},
			"a deletion": {written: memcached.Written{Waiting: text}},
			"an image":   {pods: []corev1.Pod{makePod("cache-5d4f-00", waiting("ErrImagePull", text))}},
		} {
			c.mc, c.deployment = mc, makeDeployment(t, mc, settled, runs(text))
			status, found := c.status(noon), false
			for _, condition := range status.Conditions {
				found = found || strings.Contains(condition.Message, want)
			}
			if !found || cmp.Or(status.Image, want) != want {
				t.Errorf("%s: %q is in no condition, and the image is %q", path, want, status.Image)
			}
		}
		if got := quoted(text); got != `"`+strings.ReplaceAll(want, `"`, "'")+`"` {
			t.Errorf("%q is quoted as %s", text, got)
		}
	}
}

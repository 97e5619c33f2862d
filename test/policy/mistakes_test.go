// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/controllers"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/test/kustomize"
	"github.com/example/memcached-operator/test/repository"
	"github.com/example/memcached-operator/test/testenv"
)

// mistake is a mistake of a newcomer. The message must contain the words in says, which are about the field and the remedy.
type mistake struct {
	// spec is the YAML that the newcomer applies. The default has one node.
	spec string
	// cluster is an existing object with the name of a child of the Memcached. pod is the status of the Memcached's only pod.
	cluster client.Object
	pod     *corev1.PodStatus
	// refusal is the message with which the API server refuses the pods.
	refusal string
	// report is the message of the problem that the agent of the node reports.
	report string
	says   []string
}

// atApply are mistakes that kubectl apply reports, as an error or as a warning.
var atApply = map[string]mistake{
	"a size in words":                  {spec: `{size: three}`, says: []string{"spec.size", "must be of type integer"}},
	"a field of a Deployment":          {spec: `{size: 1, replicas: 3}`, says: []string{`unknown field "spec.replicas"`}},
	"a field of another operator":      {spec: `{size: 1, config: {maxMemory: 1Gi}}`, says: []string{`unknown field "spec.config.maxMemory"`}},
	"memory as memcached writes it":    {spec: `{size: 1, config: {memory: 64}}`, says: []string{"spec.config.memory", "such as 64Mi"}},
	"memory in megabytes":              {spec: `{size: 1, config: {memory: 128M}}`, says: []string{"spec.config.memory", "such as 64Mi"}},
	"too little memory":                {spec: `{size: 1, config: {memory: 32Mi}}`, says: []string{"spec.config.memory", "64Mi"}},
	"no room beside the items":         {spec: `{size: 1, config: {memory: 256Mi}, resources: {limits: {memory: 256Mi}}}`, says: []string{"spec.resources.limits.memory", "raise"}},
	"items larger than half":           {spec: `{size: 1, config: {maxItemSize: 64Mi}}`, says: []string{"maxItemSize", "memory"}},
	"a day":                            {spec: `{size: 1, config: {idleTimeout: 1d}}`, says: []string{"idleTimeout", "1h"}},
	"a rollout that cannot move":       {spec: `{size: 3, updateStrategy: {maxSurge: 0, maxUnavailable: 0}}`, says: []string{"spec.updateStrategy", "raise one"}},
	"a StatefulSet with a surge":       {spec: `{size: 3, workload: StatefulSet, updateStrategy: {maxSurge: 1}}`, says: []string{"maxSurge", "StatefulSet"}},
	"a version without quotes":         {spec: `{size: 1, tls: {secretName: a, minVersion: 1.3}}`, says: []string{"spec.tls.minVersion", "must be of type string"}},
	"a budget of all nodes":            {spec: `{size: 3, podDisruptionBudget: {minAvailable: 3}}`, says: []string{"spec.podDisruptionBudget.minAvailable", "maxUnavailable: 1"}},
	"passwords that everyone reads":    {spec: `{size: 1, auth: {secretName: a}}`, says: []string{"spec.auth", "set spec.tls.secretName"}},
	"a list without a policy":          {spec: `{size: 1, networkPolicy: {enabled: false, from: [{podSelector: {}}]}}`, says: []string{"spec.networkPolicy.enabled", "remove enabled"}},
	"a policy for the metrics alone":   {spec: `{size: 1, networkPolicy: {metricsFrom: [{podSelector: {}}]}}`, says: []string{"spec.networkPolicy.metricsFrom", "spec.networkPolicy.from"}},
	"a Service with the wrong address": {spec: `{size: 1, service: {type: LoadBalancer}}`, says: []string{`unknown field "spec.service.type"`}},
}

// inStatus are mistakes that the condition Degraded reports.
var inStatus = map[string]mistake{
	"a wrong tag": {pod: waits("memcached", "ErrImagePull", "memcached:9: not found"), says: []string{"ImagePullFailed", "spec.image", "runbook.md#imagepullfailed"}},
	"an image without memcached": {
		pod:  waits("memcached", "CreateContainerError", `exec: "memcached": executable file not found in $PATH`),
		says: []string{"NodesCrashing", "The image has no memcached: correct spec.image", "runbook.md#nodescrashing"},
	},
	"too few open files": {pod: exits("memcached", 71, ""), says: []string{"NodesCrashing", "spec.config.maxConnections", "lower it"}},
	"a Secret that is missing": {
		pod:  exits("memcached-agent", 1, "InvalidCertificate: the Secret of spec.tls.secretName does not exist, or has neither tls.crt nor tls.key: create it"),
		says: []string{"InvalidCertificate", "spec.tls.secretName", "create it"},
	},
	"the Secret of a database": {
		pod:  exits("memcached-agent", 1, "InvalidCredentials: the Secret of spec.auth.secretName has host, uri beside username and password: name a Secret with these two keys"),
		says: []string{"InvalidCredentials", "spec.auth.secretName", "name a Secret"},
	},
	"a selector that nothing has": {
		pod:  unscheduled("0/3 nodes are available: 3 node(s) didn't match Pod's node affinity/selector."),
		says: []string{"Unschedulable", "Correct spec.scheduling.nodeSelector", "runbook.md#unschedulable"},
	},
	"too large for every machine": {pod: unscheduled("0/3 nodes are available: 3 Insufficient memory."), says: []string{"Unschedulable", "Lower spec.resources or spec.config.memory"}},
	"a quota on pods": {
		refusal: `pods "x" is forbidden: exceeded quota: team, requested: pods=1, used: pods=4, limited: pods=4`,
		says:    []string{"QuotaExceeded", "Lower spec.size", "runbook.md#quotaexceeded"},
	},
	"a quota that demands CPU": {
		refusal: `pods "x" is forbidden: failed quota: team: must specify limits.cpu for: memcached`,
		says:    []string{"QuotaExceeded", "Set spec.resources.limits.cpu"},
	},
	"a LimitRange": {
		refusal: `pods "x" is forbidden: maximum memory usage per Container is 128Mi, but limit is 198Mi`,
		says:    []string{"AdmissionDenied", "lower spec.config.memory"},
	},
	"a PriorityClass that is missing": {
		refusal: `pods "x" is forbidden: no PriorityClass with name important was found`,
		says:    []string{"AdmissionDenied", "spec.scheduling.priorityClassName", "create the PriorityClass"},
	},
	"the name of a Service": {
		cluster: &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}, says: []string{"Conflict", "Service", "delete or rename one of the two"},
	},
	"the name of a Deployment": {
		cluster: &appsv1.Deployment{Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
			},
		}},
		spec: `{size: 1}`, says: []string{"Conflict", "Deployment", "delete or rename one of the two"},
	},
	"a PriorityClass of the system": {
		spec: `{size: 1, scheduling: {priorityClassName: system-node-critical}}`,
		says: []string{"InvalidSpec", "spec.scheduling.priorityClassName", "use a class of your own"},
	},
	"a label that is none": {spec: `{size: 1, scheduling: {nodeSelector: {"not a label": x}}}`, says: []string{"InvalidSpec", "spec.scheduling.nodeSelector"}},
}

// The message about a mistake must be where a newcomer looks, and contain the field and the remedy. Mistakes with "make deploy" are
// in test/manifests. Mistakes that need a running memcached, such as a bad Secret, are also in test/e2e.
func TestMistakesAreTold(t *testing.T) {
	i := install(t)
	i.apply(t, kustomize.Render(t, repository.Path("config", "admission-warnings")))
	i.grantEverything(t)
	g := NewWithT(t)
	var received warnings
	config := rest.CopyConfig(i.config)
	config.WarningHandlerWithContext = &received
	user, err := client.New(config, client.Options{Scheme: testenv.Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	apply := func(spec string) string {
		received = nil
		err := user.Create(t.Context(), memcachedOf(t, "mistake", spec), client.DryRunAll, client.FieldValidation("Strict"))
		return fmt.Sprint(err, received)
	}
	g.Eventually(func() string { return apply(atApply["a budget of all nodes"].spec) }, timeout).Should(ContainSubstring("minAvailable"))
	for name, m := range atApply {
		t.Run(name, func(t *testing.T) { m.expect(t, apply(m.spec)) })
	}
	t.Run("no operator", func(t *testing.T) {
		mc := memcachedOf(t, "unwatched", "{size: 1}")
		NewWithT(t).Expect(i.admin.Create(t.Context(), mc)).To(Succeed())
		mistake{says: []string{"WaitingForOperator: Waiting for the operator"}}.expect(t, i.told(t, "unwatched", cachev1alpha1.ConditionReady))
	})
	i.start(t, func(o *controllers.Options) { o.Nodes, o.AskAgents = reporters{}, true })
	number := 0
	for name, m := range inStatus {
		number++
		t.Run(name, func(t *testing.T) {
			i.expectTold(t, fmt.Sprintf("mistake-%d", number), cachev1alpha1.ConditionDegraded, m)
		})
	}
	for name, m := range inReports {
		m.pod = serving()
		t.Run(name, func(t *testing.T) {
			i.expectTold(t, strings.ToLower(m.says[0]), cachev1alpha1.ConditionNeedsAttention, m)
		})
	}
	i.expectEvents(t)
}

func (m mistake) expect(t *testing.T, told string) {
	t.Helper()
	for _, words := range m.says {
		if !strings.Contains(told, words) {
			t.Errorf("told: %s\nwithout: %s", told, words)
		}
	}
}

// expectTold makes a mistake, and waits until a condition reports it.
func (i *installation) expectTold(t *testing.T, name, condition string, m mistake) {
	t.Helper()
	g := NewWithT(t)
	if m.cluster != nil {
		m.cluster.SetNamespace(shop)
		m.cluster.SetName(name)
		g.Expect(i.admin.Create(t.Context(), m.cluster)).To(Succeed())
	}
	spec := m.spec
	if spec == "" {
		spec = "{size: 1, workload: StatefulSet}"
	}
	if m.refusal != "" {
		spec = "{size: 1}"
	}
	g.Expect(i.admin.Create(t.Context(), memcachedOf(t, name, spec))).To(Succeed())
	key := client.ObjectKey{Namespace: shop, Name: name}
	if m.refusal != "" {
		deployment := &appsv1.Deployment{}
		g.Eventually(func() error { return i.admin.Get(t.Context(), key, deployment) }, timeout).Should(Succeed())
		deployment.Status = appsv1.DeploymentStatus{ObservedGeneration: deployment.Generation, Conditions: []appsv1.DeploymentCondition{{
			Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: m.refusal,
		}}}
		g.Expect(i.admin.Status().Update(t.Context(), deployment)).To(Succeed())
	}
	if m.pod != nil {
		set := &appsv1.StatefulSet{}
		g.Eventually(func() error { return i.admin.Get(t.Context(), key, set) }, timeout).Should(Succeed())
		i.runNode(t, set, *m.pod)
	}
	begin := time.Now()
	g.Eventually(func() string { return i.told(t, name, condition) }, timeout).Should(HavePrefix(m.says[0]))
	t.Logf("told after %s", time.Since(begin).Round(time.Millisecond))
	m.expect(t, i.told(t, name, condition))
}

// runNode creates the first pod of a StatefulSet with a status, as the controllers of Kubernetes would.
func (i *installation) runNode(t *testing.T, set *appsv1.StatefulSet, status corev1.PodStatus) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: set.Namespace, Name: set.Name + "-0", Labels: set.Spec.Template.Labels,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "StatefulSet", Name: set.Name, UID: set.UID, Controller: ptr.To(true),
			}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: memcached.ContainerName, Image: "memcached"}}},
	}
	g := NewWithT(t)
	g.Expect(i.admin.Create(t.Context(), pod)).To(Succeed())
	pod.Status = status
	g.Expect(i.admin.Status().Update(t.Context(), pod)).To(Succeed())
}

// told returns a condition of a Memcached as "Reason: message", or "" if it is absent.
func (i *installation) told(t *testing.T, name, condition string) string {
	t.Helper()
	mc := &cachev1alpha1.Memcached{}
	NewWithT(t).Expect(i.admin.Get(t.Context(), client.ObjectKey{Namespace: shop, Name: name}, mc)).To(Succeed())
	if found := meta.FindStatusCondition(mc.Status.Conditions, condition); found != nil {
		return found.Reason + ": " + found.Message
	}
	return ""
}

func waits(container, reason, message string) *corev1.PodStatus {
	return &corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Name: container, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}},
	}}}
}

func exits(container string, code int32, message string) *corev1.PodStatus {
	return &corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{
		Name:  container,
		State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code, Reason: "Error", Message: message}},
	}}}
}

func unscheduled(message string) *corev1.PodStatus {
	return &corev1.PodStatus{Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: message,
	}}}
}

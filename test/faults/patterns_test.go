// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package faults

// pattern is a known way in which operators fail. Its test shows that this operator does not fail that way. The mutation removes the
// defense, so the test must fail with the mutation. The first thirty patterns are from the literature (Sieve, OSDI 2022; Acto, SOSP
// 2023; Mutiny, DSN 2024) and from issues of other operators. The remaining patterns cover moves between workloads, lost hosts,
// Memcacheds that fill each other, MemcachedProxies and changes in place.
type pattern struct {
	name string
	// pkg and test identify a Go test of this repository. spec selects a Ginkgo spec in the test, and plan selects a scenario and a fault
	// of TestSweep.
	pkg, test, spec, plan string
	// The mutation replaces the text "from" by the text "to" in the source file that "file" names.
	file, from, to string
}

const (
	inControllers = "./controllers"
	inApply       = "./internal/apply"
	inDesired     = "./internal/memcached/desired"
	inStatus      = "./internal/memcached/status"
	inFaults      = "./test/faults"
)

// patterns are the known ways in which operators fail. TestPatterns checks that their tests and mutations fit the code.
var patterns = []pattern{
	{
		name: "1 crash between two writes", pkg: inFaults, test: "TestSweep", plan: "create/patch_deployments_0.1/500",
		file: "internal/apply/apply.go", from: "			outcomes[i] = a.execute(ctx, plan.owner, step)\n",
		to: "			if plan.steps[0].live == nil {\n				outcomes[i] = a.execute(ctx, plan.owner, step)\n			}\n",
	},
	{
		name: "2 ambiguous write", pkg: inApply, test: "TestApply",
		spec: "does not include an object of ours that the cache misses, as somebody has removed its label",
		file: "internal/apply/create.go", from: "		a.mutations.RecordWrite(live)\n", to: "",
	},
	{
		name: "3 same name, new UID", pkg: inApply, test: "TestApply", spec: "is not deleted if another one has taken its name since",
		file: "internal/apply/write.go", from: "	uid := object.GetUID()\n	err := a.client.Delete(ctx, object, client.Preconditions{UID: &uid})",
		to: "	err := a.client.Delete(ctx, object)",
	},
	{
		name: "4 stale spec after scaling", pkg: inControllers, test: "TestControllers",
		spec: "does not undo what another one did since, and goes on with the latest version",
		file: "controllers/verify.go", from: "	if missing || (reconciled || changes.Changing()) && !r.verified(mc) {", to: "	if missing {",
	},
	{
		name: "5 own write missing from the cache", pkg: inControllers, test: "TestControllers",
		spec: "writes nothing twice because its cache lags",
		file: "internal/apply/mutationcache.go", from: "		return w.object.DeepCopyObject().(client.Object), true", to: "		return nil, false",
	},
	{
		name: "6 unobserved transition", pkg: inFaults, test: "TestSweep", plan: "delete/memcacheds/dropped",
		file: "controllers/verify.go", from: "	missing := reconciled && changes.Missing()",
		to: "	missing := false",
	},
	{
		name: "7 expired watch", pkg: inFaults, test: "TestSweep", plan: "delete/memcacheds/410",
		file: "controllers/verify.go", from: "	missing := reconciled && changes.Missing()",
		to: "	missing := false",
	},
	{
		name: "8 endless writes because of server defaults", pkg: inControllers, test: "TestControllers",
		spec: "is accepted by the API server, converges, and is a fixed point: the second reconcile writes nothing",
		file: "internal/apply/diff.go", from: "	if missing.Empty() && comparison.Modified.Empty() && surplus.Empty() {",
		to: "	if comparison.IsSame() {",
	},
	{
		name: "9 nondeterministic rendering", pkg: inDesired, test: "TestDesiredIsByteStable",
		file: "internal/memcached/names.go", from: "{NameLabel: nodeName,",
		to: "{NameLabel: fmt.Sprintf(\"%p\", new(int)),",
	},
	{
		name: "10 unconditional status write", pkg: inControllers, test: "TestControllers",
		spec: "converges with one write to each child and two status writes, and then there are none",
		file: "controllers/status.go", from: "	if equality.Semantic.DeepEqual(mc.Status, current) {",
		to: "	if equality.Semantic.DeepEqual(mc.Status, nil) {",
	},
	{
		name: "11 wrong status", pkg: inStatus, test: "TestStatusThroughRollouts",
		file: "internal/memcached/workload.go", from: "{ return w.GetGeneration() > w.ObservedGeneration }", to: "{ return false }",
	},
	{
		name: "12 name taken by a foreign object", pkg: inControllers, test: "TestControllers",
		spec: "may be an object of somebody else, which is never touched, and recovers when that goes away",
		file: "internal/apply/create.go", from: `const absent = "1"`, to: `const absent = ""`,
	},
	{
		name: "13 two resources with one selector", pkg: inControllers, test: "TestControllers",
		spec: "shares no pod with another one in its namespace",
		file: "controllers/observe.go", from: "client.MatchingFields{InstanceIndex: mc.Name}",
		to: "client.MatchingFields{InstanceIndex: \"cache\"}",
	},
	{
		name: "14 drift", pkg: inControllers, test: "TestControllers", spec: "heals each child that somebody changed with one write",
		file: "internal/apply/diff.go", from: "	if missing.Empty() && comparison.Modified.Empty() && surplus.Empty() {",
		to: "	if comparison != nil {",
	},
	{
		name: "15 corrupted dependency fields", pkg: inControllers, test: "TestControllers",
		spec: "may be a Deployment of somebody else, whose pods are not counted",
		file: "internal/apply/ownership.go", from: "	default:\n		return &ConflictError{Kind: kind, Name: live.GetName()}",
		to: "	default:\n		return nil",
	},
	{
		name: "16 immutable fields", pkg: inDesired, test: "TestGolden",
		file: "internal/memcached/names.go", from: "ManagedByLabel: ManagedBy}",
		to: "ManagedByLabel: ManagedBy, \"app.kubernetes.io/version\": \"1\"}",
	},
	{
		name: "17 conflict storm", pkg: inFaults, test: "TestConflictStorm",
		file: "internal/apply/update.go", from: "	s.rendered.SetUID(s.live.GetUID())\n",
		to: "	s.rendered.SetUID(s.live.GetUID())\n	s.rendered.SetResourceVersion(\"2\") // an optimistic lock that has lost\n",
	},
	{
		name: "18 partial failure", pkg: inControllers, test: "TestControllers",
		spec: "may be a quota, whose words are told, and recovers when there is room",
		file: "internal/apply/apply.go", from: "			outcomes[i] = a.execute(ctx, plan.owner, step)\n",
		to: "			if i == 0 {\n				outcomes[i] = a.execute(ctx, plan.owner, step)\n			}\n",
	},
	{
		name: "19 recovery from an error state", pkg: inControllers, test: "TestControllers",
		spec: "may be a spec that the API server refuses in a child, which is told",
		file: "controllers/errors.go", from: "			retry = append(retry, err)\n", to: "			problem = written.Problem\n",
	},
	{
		name: "20 any value in the spec", pkg: inFaults, test: "TestEveryField/values/spec.scheduling.nodeSelector{}=_a_b_c_",
		file: "internal/memcached/status/refusals.go", from: "func RefusalReason(message string) string {",
		to: "func RefusalReason(message string) string {\n	if len(message) > 300 {\n		panic(message)\n	}",
	},
	{
		name: "21 foreground deletion", pkg: inControllers, test: "TestControllers",
		spec: "tells the truth while it is deleted in the foreground, and creates nothing",
		file: "controllers/write.go", from: "	if mc.DeletionTimestamp != nil {\n		return memcached.Written{}",
		to: "	if mc == nil {\n		return memcached.Written{}",
	},
	{
		name: "22 terminating namespace", pkg: inControllers, test: "TestControllers",
		spec: "may be the deletion of the namespace, which is not fought",
		file: "controllers/errors.go", from: "apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)",
		to: "apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause+\"!\")",
	},
	{
		name: "24 unresponsive API server", pkg: inControllers, test: "TestControllers", spec: "a broken connection",
		file: "controllers/errors.go", from: "	case !errors.As(err, &answer):\n		return true",
		to: "	case !errors.As(err, &answer):\n		return false",
	},
	{
		name: "25 upgrade of the operator", pkg: inDesired, test: "TestUpgradeAloneChangesNothing",
		file: "internal/memcached/record.go", from: "	if live == nil || live.TemplateHash() != templateHash {",
		to: "	if live == nil || live.TemplateHash() != \"\" {",
	},
	{
		name: "26 starvation by a noisy neighbor", pkg: inControllers, test: "TestControllers",
		spec: "delays nobody but those whose namespace has it",
		file: "controllers/memcached_controller.go", from: "const DefaultConcurrentReconciles = 24",
		to: "const DefaultConcurrentReconciles = 20",
	},
	{
		name: "27 panic", pkg: inFaults, test: "TestPanic",
		file: "controllers/memcached_controller.go", from: "		RateLimiter:           RateLimiter(),",
		to: "		RateLimiter:           RateLimiter(),\n		RecoverPanic:          ptr.To(false),",
	},
	{
		name: "28 permanently failing resource", pkg: inControllers, test: "TestWhatFailedComesAfterNewWork",
		file: "controllers/memcached_controller.go", from: "			result.Priority = ptr.To(failedPriority)\n",
		to: "			result.Priority = ptr.To(0)\n",
	},
	{
		name: "29 leak", pkg: inFaults, test: "TestEndurance",
		file: "controllers/verify.go", from: "	r.metrics.Forget(name.Namespace, name.Name)\n", to: "",
	},
	{
		name: "30 lost permission", pkg: inFaults, test: "TestSweep", plan: "image-change/patch_deployments_0.1/403",
		file: "controllers/errors.go", from: "			retry = append(retry, err)\n", to: "			problem = written.Problem\n",
	},
	{
		name: "31 workload deleted with its nodes", pkg: inDesired, test: "TestMove",
		file: "internal/memcached/desired/move.go", from: "former.Size == 0 && former.Replicas == 0 && !former.Unobserved()",
		to: "former.Size == 0",
	},
	{
		name: "32 too many members in a move", pkg: inDesired, test: "TestMove",
		file: "internal/memcached/desired/move.go", from: "nodes = max(nodes, former.Replicas)", to: "nodes = former.Size",
	},
	{
		name: "33 nodes that leave before others are ready", pkg: inFaults, test: "TestSweep", plan: "move-undone/patch_deployments_0.1/500",
		file: "internal/memcached/desired/move.go", from: "	return min(ready, present.Available, present.Size)\n",
		to: "	return max(ready, present.Size)\n",
	},
	{
		name: "34 replacement of a lost pod", pkg: inControllers, test: "TestControllers",
		spec: "is deleted once, and another pod of its name is not, whatever the cache says",
		file: "controllers/lost_pods.go", from: "client.GracePeriodSeconds(0),\n		client.Preconditions{UID: &pod.UID, ResourceVersion: &pod.ResourceVersion})",
		to: "client.GracePeriodSeconds(0))",
	},
	{
		name: "35 nodes that leave are taken for nodes that have moved", pkg: inDesired, test: "TestMoveCountsNodesThatStay",
		file: "internal/memcached/desired/move.go", from: "present == nil || present.Unobserved()", to: "present == nil",
	},
	{
		name: "36 nodes that were not counted yet in a move", pkg: inDesired, test: "TestMoveTurnsBack",
		file: "internal/memcached/desired/move.go", from: "	case former.Unobserved():", to: "	case former == nil:",
	},
	{
		name: "37 stale workload in a move", pkg: inControllers, test: "TestMoveSeenByALaggingCache",
		file: "controllers/verify.go", from: "	return r.verifyMove(ctx, view)\n", to: "	return nil\n",
	},
	{
		name: "38 twins that leave together", pkg: inDesired, test: "TestTwinsNeverLeaveTogether",
		file: "internal/memcached/desired/partition.go", from: "nodeState.away) && guard.allows(first-1)", to: "nodeState.away)",
	},
	{
		name: "39 stale size of a pool", pkg: "./controllers/proxy", test: "TestProxy", spec: "does not announce a former size of its pool",
		file: "controllers/proxy/write.go", from: "range view.Pools() {", to: "range view.Pools()[:0] {",
	},
	{
		name: "40 nodes that restart together for other arguments", pkg: inFaults, test: "TestSweep",
		plan: "statefulset-restart-in-place/all/stale",
		file: "internal/memcached/desired/wave.go", from: "next[:min(max(free, 0), len(next))]", to: "next[:max(free*0, len(next))]",
	},
	{
		name: "41 pods that count as changed before they restart", pkg: inFaults, test: "TestSweep", plan: "image-in-place/all/stale",
		file: "internal/memcached/desired/inplace_step.go", from: "		if startsOf(s.pod, name) <= restarts {",
		to: "		if startsOf(s.pod, name) < min(restarts, -1) {",
	},
}

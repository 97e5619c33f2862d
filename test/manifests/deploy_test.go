// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package manifests_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/repository"
)

const (
	image     = "IMG=registry.example.com/memcached-operator:v1"
	twoCaches = `MEMCACHEDS=shop/sessions 3\nshop/carts 1\n`
	oneProxy  = `PROXIES=shop/front MemcachedProxy\n`
	ownCache  = `MEMCACHEDS=memcached-operator-system/cache 2\n`
	// What kubectl prints about existing bindings: a line for a ClusterRoleBinding and a line for the binding of a policy, each with
	// the namespace of an operator.
	ownBindings   = `BINDINGS=memcached-operator-system   <none>\n<none>   memcached-operator-system\n`
	bindingsOfOps = `BINDINGS=ops   <none>\n<none>   ops\n`
	crdKind       = "CustomResourceDefinition"
	everything    = "everything"
)

func TestDeployAndUndeploy(t *testing.T) {
	for name, test := range map[string]struct {
		folder    string // default: config/default
		arguments []string
		fails     bool
		says      []string
		applies   string // "everything", or "" for nothing
		deletes   string // "everything", "" for nothing, or the kinds that are kept
	}{
		"deploy refuses the placeholder": {
			arguments: []string{"deploy", "IMG=example.com/" + "memcached-operator:v" + repository.Variable(t, "VERSION")}, fails: true,
			says: []string{
				"IMG is the placeholder example.com/" + "memcached-operator:v" + repository.Variable(t, "VERSION") + ", which no cluster can pull",
				"docker-push deploy IMG=",
			},
		},
		"deploy needs both digests": {
			arguments: []string{"deploy", "IMG=registry.example.com/memcached-operator@sha256:" + strings.Repeat("0", 64)}, fails: true,
			says: []string{"AGENT_IMG is '', but must name the image of the agent"},
		},
		"deploy without a cluster": {
			arguments: []string{"deploy", image, "NO_CLUSTER=yes"}, fails: true,
			says: []string{"No cluster answers (The connection to the server localhost:8080 was refused): set KUBECONFIG to one, or start one with make cluster-up."},
		},
		"deploy over a release of Helm": {
			arguments: []string{"deploy", image, `OPERATORS=ops/memcached-operator Helm cache-operator\n`}, fails: true,
			says: []string{
				"The release cache-operator of Helm in the namespace ops has an operator already",
				"helm upgrade cache-operator --namespace ops", "helm uninstall cache-operator --namespace ops", "Nothing is written.",
			},
		},
		"deploy over its own bindings": {arguments: []string{"deploy", image, ownBindings}, applies: everything},
		"deploy over the bindings of another namespace": {
			arguments: []string{"deploy", image, bindingsOfOps}, fails: true,
			says: []string{
				"The operator in the namespace ops would lose its permissions or policies: it has bindings of the same names.",
				"Remove it first, which keeps the CRD and every cache: make undeploy DEPLOY_NAMESPACE=ops\n", "Nothing is written.",
			},
		},
		"deploy beside an operator with bindings of other names": {
			arguments: []string{"deploy", image, `OPERATORS=ops/memcached-operator kustomize \nmemcached-operator-system/memcached-operator kustomize \n`},
			applies:   everything,
			says:      []string{"Another operator runs: ops/memcached-operator. Two that watch the same namespace report each event twice"},
		},
		"deploy on a new cluster": {
			arguments: []string{"deploy", image}, applies: everything,
			says: []string{
				"The operator runs in the namespace memcached-operator-system with the image registry.example.com/memcached-operator:v1",
				"kubectl apply --filename config/samples/cache_v1alpha1_memcached.yaml\n",
			},
		},
		"deploy with caches": {
			arguments: []string{"deploy", image, twoCaches}, applies: everything,
			says: []string{
				"It manages 2 Memcacheds with 4 nodes.", "shop/sessions", "3 nodes\n", "1 node\n",
				"Next:\n  kubectl get memcacheds --watch --all-namespaces",
			},
		},
		"deploy in one namespace": {
			folder: "namespaced", arguments: []string{"deploy", image}, applies: everything,
			says: []string{"memcached.yaml --namespace memcached-operator-system", "--watch --namespace memcached-operator-system"},
		},
		"deploy of an operator that does not start": {
			arguments: []string{"deploy", image, "ROLLOUT=timed out waiting for the condition", "DEPLOY_TIMEOUT=0"},
			applies:   everything, fails: true,
			says: []string{
				"operator-1: Pending, ErrImagePull not found", "The operator is installed but not ready: timed out",
				"kubectl describe pods --namespace memcached-operator-system",
			},
		},
		"deploy of an operator that fails": {
			arguments: []string{"deploy", image, "ROLLOUT=exceeded its progress deadline"}, applies: everything, fails: true,
			says: []string{"The operator is installed but not ready: exceeded its progress deadline"},
		},
		"undeploy keeps the caches": {
			arguments: []string{"undeploy", twoCaches}, deletes: crdKind,
			says: []string{
				"The operator is removed. The CRD and 2 Memcacheds with 4 nodes stay.", "shop/sessions", "The nodes keep serving.",
				"make undeploy-all    deletes the caches as well.", "kubectl delete crd would delete every cache of all namespaces",
			},
		},
		"undeploy keeps the proxies": {
			arguments: []string{"undeploy", twoCaches, oneProxy}, deletes: crdKind,
			says: []string{"The CRD and 2 Memcacheds with 4 nodes, and 1 MemcachedProxy stay.", "shop/front", " MemcachedProxy\n"},
		},
		"undeploy keeps a namespace with proxies": {
			arguments: []string{"undeploy", `PROXIES=memcached-operator-system/front MemcachedProxy\n`}, deletes: crdKind + " Namespace",
			says: []string{"The namespace memcached-operator-system stays because some of them are in it."},
		},
		"undeploy keeps a namespace with caches": {
			arguments: []string{"undeploy", ownCache}, deletes: crdKind + " Namespace",
			says: []string{
				"The CRD and 1 Memcached with 2 nodes stay.",
				"The namespace memcached-operator-system stays because some of them are in it.",
			},
		},
		"undeploy with its own bindings": {arguments: []string{"undeploy", ownBindings}, deletes: crdKind},
		"undeploy in another namespace": {
			arguments: []string{"undeploy", bindingsOfOps}, fails: true,
			says: []string{
				"The operator in the namespace ops would lose its permissions or policies: it has bindings of the same names.",
				"make undeploy DEPLOY_NAMESPACE=ops\n", "Nothing is written.",
			},
		},
		"undeploy-all in another namespace": {
			arguments: []string{"undeploy-all", "CONFIRM=yes", bindingsOfOps}, fails: true, says: []string{"make undeploy DEPLOY_NAMESPACE=ops\n"},
		},
		"undeploy without a CRD": {
			arguments: []string{"undeploy", "NO_CRD=yes"}, deletes: crdKind, says: []string{"0 Memcacheds with 0 nodes"},
		},
		"undeploy without an API server": {
			arguments: []string{"undeploy", "NO_API=yes"}, fails: true, says: []string{"Unable to connect to the server"},
		},
		"undeploy in one namespace": {
			folder: "namespaced", arguments: []string{"undeploy", ownCache}, deletes: crdKind,
			says: []string{"1 Memcached with 2 nodes stay."},
		},
		"undeploy-all asks": {
			arguments: []string{"undeploy-all", twoCaches}, fails: true,
			says: []string{
				"In the cluster of the context shop-cluster, this deletes:", "  Namespace (1)\n", "  CustomResourceDefinition (2)\n",
				"2 Memcacheds with 4 nodes, with everything that they cache", "shop/sessions", "Nothing is deleted. CONFIRM=yes confirms",
			},
		},
		"undeploy-all takes no other answer": {
			arguments: []string{"undeploy-all", "CONFIRM=no"}, fails: true, says: []string{"Nothing is deleted."},
		},
		"undeploy-all deletes everything": {
			arguments: []string{"undeploy-all", "CONFIRM=yes", twoCaches}, deletes: everything,
			says: []string{"objects and 2 Memcacheds with 4 nodes.\n"},
		},
		"uninstall asks if there are caches": {
			folder: "crd", arguments: []string{"uninstall", twoCaches}, fails: true,
			says: []string{"  CustomResourceDefinition (2)\n", "Nothing is deleted."},
		},
		"uninstall asks if there are proxies": {
			folder: "crd", arguments: []string{"uninstall", oneProxy}, fails: true,
			says: []string{"  0 Memcacheds with 0 nodes, and 1 MemcachedProxy, with everything", "shop/front", "Nothing is deleted."},
		},
		"uninstall": {folder: "crd", arguments: []string{"uninstall"}, deletes: everything},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if test.folder == "" {
				test.folder = "default"
			}
			run := runMake(t, test.folder, test.arguments...)
			if run.failed != test.fails {
				t.Errorf("failed: %t, want %t", run.failed, test.fails)
			}
			for _, words := range test.says {
				if !strings.Contains(run.output, words) {
					t.Errorf("the output lacks %q", words)
				}
			}
			all := run.kinds(t, "manifests")
			equal(t, "applied", run.kinds(t, "applied"), without(all, test.applies))
			equal(t, "deleted", run.kinds(t, "deleted"), without(orderOfDeletion(all), test.deletes))
			if t.Failed() {
				t.Log(run.output)
			}
		})
	}
}

// orderOfDeletion moves the Deployment to the front and the Namespace to the end of the kinds.
func orderOfDeletion(kinds []string) []string {
	const first, last = "Deployment", "Namespace"
	order := without(kinds, first+" "+last)
	if slices.Contains(kinds, first) {
		order = slices.Insert(order, 0, first)
	}
	if slices.Contains(kinds, last) {
		order = append(order, last)
	}
	return order
}

// without returns all kinds except those that the argument but lists, separated by spaces. If this list is empty, it returns no kind.
func without(all []string, but string) []string {
	if but == "" {
		return nil
	}
	var kinds []string
	for _, kind := range all {
		if !strings.Contains(" "+but+" ", " "+kind+" ") {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

func equal(t *testing.T, what string, got, want []string) {
	t.Helper()
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// config/namespaced has no CRDs, whose deletion would delete the proxies and the caches. Therefore "make undeploy-all" itself deletes those
// in the namespace. The proxies go first, because their routes lead to the nodes. In an earlier version without the CRD of MemcachedProxy,
// there are no proxies to delete.
func TestUndeployAllInOneNamespaceDeletesItsCaches(t *testing.T) {
	const (
		proxies    = "delete memcachedproxies.cache.example.com --all --namespace memcached-operator-system\n"
		memcacheds = "delete memcacheds.cache.example.com --all --namespace memcached-operator-system\n"
	)
	for name, test := range map[string]struct {
		arguments []string
		want      string
	}{
		"both":                        {[]string{ownCache, oneProxy}, proxies + memcacheds},
		"proxies":                     {[]string{oneProxy}, proxies},
		"a CRD of an earlier version": {[]string{ownCache, oneProxy, "OLD_CRD=yes"}, memcacheds},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run := runMake(t, "namespaced", append(test.arguments, "undeploy-all", "CONFIRM=yes")...)
			var got strings.Builder
			for line := range strings.Lines(repository.ReadFile(t, filepath.Join(run.dir, "arguments"))) {
				if strings.Contains(line, " --all ") {
					got.WriteString(line)
				}
			}
			if run.failed || got.String() != test.want {
				t.Errorf("kubectl got %s, want %s\n%s", got.String(), test.want, run.output)
			}
		})
	}
}

// make must look up the cluster-scoped bindings that name the operator's namespace, because two operators cannot share such a binding.
func TestDeployLooksUpBindings(t *testing.T) {
	run := runMake(t, "default", "deploy", image)
	lookedUp := slices.Compact(run.kinds(t, "looked-up"))
	equal(t, "looked up", lookedUp, []string{"ClusterRoleBinding", "ValidatingAdmissionPolicyBinding"})
}

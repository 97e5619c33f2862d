// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build olm

package olm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	operatorsv1 "github.com/operator-framework/api/pkg/operators/v1"
	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// packageName is the name of the package, and of every OLM object that the stories create.
	packageName = "memcached-operator"
	// olmNamespace is where OLM runs. All namespaces can use the catalogs in it.
	olmNamespace = "olm"
	// operatorDeployment is the name of the Deployment in the bundle, and of its service account.
	operatorDeployment = "memcached-operator-controller-manager"
)

// versionName returns the name of the ClusterServiceVersion of a version.
func versionName(version string) string { return packageName + ".v" + version }

// newCatalog creates a catalog from an image, and waits until OLM is connected to it. The catalog is deleted at the end of the
// story.
func newCatalog(ctx context.Context, image string) {
	GinkgoHelper()
	catalog := &operatorsv1alpha1.CatalogSource{
		ObjectMeta: metav1.ObjectMeta{Namespace: olmNamespace, Name: packageName},
		Spec: operatorsv1alpha1.CatalogSourceSpec{
			SourceType: operatorsv1alpha1.SourceTypeGrpc, Image: image, DisplayName: "Memcached Operator",
			GrpcPodConfig: &operatorsv1alpha1.GrpcPodConfig{SecurityContextConfig: operatorsv1alpha1.Restricted},
		},
	}
	Expect(k8s.Create(ctx, catalog)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(k8s.Delete(ctx, catalog)).To(Succeed()) })
	Eventually(ctx, func() (string, error) {
		err := k8s.Reread(ctx, catalog)
		if state := catalog.Status.GRPCConnectionState; state != nil {
			return state.LastObservedState, err
		}
		return "", err
	}).Should(Equal("READY"), "state of the connection to the catalog")
}

// release gives the catalog a new image, as the publisher of a new version does.
func release(ctx context.Context, image string) {
	GinkgoHelper()
	catalog := &operatorsv1alpha1.CatalogSource{}
	Expect(k8s.Get(ctx, client.ObjectKey{Namespace: olmNamespace, Name: packageName}, catalog)).To(Succeed())
	k8s.Change(ctx, catalog, func() { catalog.Spec.Image = image })
}

// newScope creates an OperatorGroup: operators in its namespace serve the target namespaces, or all namespaces if there are no
// targets.
func newScope(ctx context.Context, namespace string, targets ...string) {
	GinkgoHelper()
	Expect(k8s.Create(ctx, &operatorsv1.OperatorGroup{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: packageName},
		Spec:       operatorsv1.OperatorGroupSpec{TargetNamespaces: targets},
	})).To(Succeed())
}

// subscribe subscribes a namespace to a channel of the catalog. The edits change the Subscription before it is created.
func subscribe(ctx context.Context, namespace, channel string, approval operatorsv1alpha1.Approval, edits ...func(*operatorsv1alpha1.SubscriptionSpec)) {
	GinkgoHelper()
	spec := &operatorsv1alpha1.SubscriptionSpec{
		Package: packageName, Channel: channel, CatalogSource: packageName, CatalogSourceNamespace: olmNamespace,
		InstallPlanApproval: approval,
	}
	for _, edit := range edits {
		edit(spec)
	}
	Expect(k8s.Create(ctx, &operatorsv1alpha1.Subscription{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: packageName}, Spec: spec,
	})).To(Succeed())
}

// untilPlanned waits until OLM has planned the installation of a version, and returns the plan.
func untilPlanned(ctx context.Context, namespace, version string) *operatorsv1alpha1.InstallPlan {
	GinkgoHelper()
	var plan *operatorsv1alpha1.InstallPlan
	Eventually(ctx, func() error {
		var plans operatorsv1alpha1.InstallPlanList
		if err := k8s.List(ctx, &plans, client.InNamespace(namespace)); err != nil {
			return err
		}
		for i := range plans.Items {
			if slices.Contains(plans.Items[i].Spec.ClusterServiceVersionNames, versionName(version)) {
				plan = &plans.Items[i]
				return nil
			}
		}
		return fmt.Errorf("none of %d plans installs %s", len(plans.Items), version)
	}).Should(Succeed())
	return plan
}

func approve(ctx context.Context, plan *operatorsv1alpha1.InstallPlan) {
	GinkgoHelper()
	k8s.Change(ctx, plan, func() { plan.Spec.Approved = true })
}

// phases maps the version of each ClusterServiceVersion to its phase.
type phases map[string]operatorsv1alpha1.ClusterServiceVersionPhase

// installed returns the phase of each version of the operator in a namespace.
func installed(ctx context.Context, namespace string) (phases, error) {
	var versions operatorsv1alpha1.ClusterServiceVersionList
	err := k8s.List(ctx, &versions, client.InNamespace(namespace))
	found := phases{}
	for _, csv := range versions.Items {
		// OLM copies a ClusterServiceVersion to the other namespaces that the operator serves.
		if !csv.IsCopied() {
			found[csv.Spec.Version.String()] = csv.Status.Phase
		}
	}
	return found, err
}

// untilInstalled waits until this version is installed, and no other.
func untilInstalled(ctx context.Context, namespace, version string) {
	GinkgoHelper()
	begin := time.Now()
	Eventually(ctx, installed).WithArguments(namespace).Should(Equal(phases{version: operatorsv1alpha1.CSVPhaseSucceeded}))
	AddReportEntry(fmt.Sprintf("%s installed after %s", version, time.Since(begin).Round(time.Second)))
}

// uninstall removes the operator as the documentation says: Subscription, ClusterServiceVersion and OperatorGroup. The
// CustomResourceDefinitions and all caches stay.
func uninstall(ctx context.Context, namespace, version string) {
	GinkgoHelper()
	k8s.Kubectl(ctx, "delete", "--namespace", namespace, "--timeout=1m",
		"subscription/"+packageName, "clusterserviceversion/"+versionName(version), "operatorgroup/"+packageName)
	Eventually(ctx, k8s.OperatorPods).WithArguments(namespace).Should(BeEmpty(), "pods of the operator")
}

// removeRest deletes the Operator object, which lists the parts of the operator. OLM leaves this object behind. removeRest repeats the
// deletion, because OLM recreates the object as long as a part of the operator exists.
func removeRest(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func() []string {
		k8s.Kubectl(ctx, "delete", "operators.operators.coreos.com", "--all")
		return remains(ctx)
	}).Should(BeEmpty())
}

const definition = "memcacheds.cache.example.com"

func remains(ctx context.Context) []string {
	GinkgoHelper()
	return k8s.Remains(ctx, operatorsv1.GroupVersion.WithKind("Operator"))
}

// left returns all objects in a namespace, except events, endpoints, what Kubernetes creates in each namespace, and the operator's
// lease.
func left(ctx context.Context, namespace string) []string {
	GinkgoHelper()
	var kinds []string
	for kind := range strings.FieldsSeq(k8s.Kubectl(ctx, "api-resources", "--namespaced", "--verbs=list,delete", "--output=name")) {
		if !strings.HasPrefix(kind, "events") && kind != "endpoints" {
			kinds = append(kinds, kind)
		}
	}
	objects := strings.Fields(k8s.Kubectl(ctx, "get", strings.Join(kinds, ","), "--namespace", namespace, "--output=name"))
	return slices.DeleteFunc(objects, func(name string) bool {
		return slices.Contains([]string{
			"configmap/kube-root-ca.crt", "serviceaccount/default", "lease.coordination.k8s.io/memcached-operator.cache.example.com",
		}, name)
	})
}

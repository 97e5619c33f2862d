// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha1_test

import (
	"context"
	"testing"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/format"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/testenv"
)

var (
	restConfig *rest.Config
	// minor is the minor version of the suite's API server.
	minor testenv.Minor
	// k8s is a client with Go types.
	k8s client.Client
	// raw is a client that sends and returns JSON unchanged.
	raw rest.Interface
)

func TestAdmission(t *testing.T) {
	RegisterFailHandler(Fail)
	format.MaxLength = 0
	RunSpecs(t, "API")
}

var _ = BeforeSuite(func() {
	environment := testenv.New()
	var err error
	restConfig, err = environment.Start()
	DeferCleanup(environment.Stop)
	Expect(err).NotTo(HaveOccurred())
	restConfig.QPS = -1
	minor, err = testenv.MinorOf(restConfig)
	Expect(err).NotTo(HaveOccurred())

	k8s, err = client.New(restConfig, client.Options{Scheme: environment.Scheme})
	Expect(err).NotTo(HaveOccurred())
	raw = rawClient(environment.Scheme)
})

func rawClient(scheme *runtime.Scheme) rest.Interface {
	config := rest.CopyConfig(restConfig)
	config.APIPath = "/apis"
	config.GroupVersion = &cachev1alpha1.GroupVersion
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	restClient, err := rest.RESTClientFor(config)
	Expect(err).NotTo(HaveOccurred())
	return restClient
}

// dryRun creates a Memcached with this name and spec, given as JSON, without storing it. It returns what would be stored.
func dryRun(ctx context.Context, name, spec string) ([]byte, error) {
	return send(ctx, raw.Post(), manifest(name, "", spec))
}

// dryRunSpec creates a Memcached with this spec, given as YAML, without storing it. It returns what would be stored.
func dryRunSpec(ctx context.Context, spec string) ([]byte, error) {
	text, err := yaml.YAMLToJSON([]byte(spec))
	Expect(err).NotTo(HaveOccurred())
	return dryRun(ctx, "cache", string(text))
}

// send sends a request as a dry run, with strict field validation as kubectl does.
func send(ctx context.Context, request *rest.Request, object []byte) ([]byte, error) {
	result := request.Namespace(metav1.NamespaceDefault).Resource("memcacheds").
		Param("dryRun", metav1.DryRunAll).Param("fieldValidation", metav1.FieldValidationStrict).
		SetHeader("Content-Type", runtime.ContentTypeJSON).Body(object).Do(ctx)
	stored, err := result.Raw()
	if err != nil {
		// The error of the result, unlike that of Raw, has the message of the API server.
		return nil, result.Error()
	}
	return stored, nil
}

func manifest(name, resourceVersion, spec string) []byte {
	return []byte(`{"apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached", "metadata": {"name": "` + name +
		`", "resourceVersion": "` + resourceVersion + `"}, "spec": ` + spec + `}`)
}

// create stores a Memcached until the end of the Ginkgo spec that calls it.
func create(ctx context.Context, name string, spec cachev1alpha1.MemcachedSpec) *cachev1alpha1.Memcached {
	mc := &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: name},
		Spec:       spec,
	}
	Expect(k8s.Create(ctx, mc)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(k8s.Delete(ctx, mc)).To(Succeed()) })
	return mc
}

// expectRefusal expects that the API server has refused an object for all given causes, each "field: what is wrong".
func expectRefusal(err error, causes ...string) {
	GinkgoHelper()
	Expect(apierrors.IsInvalid(err)).To(BeTrue(), "want a refusal of the value, got: %v", err)
	for _, cause := range causes {
		Expect(minor.Words(err.Error())).To(ContainSubstring(minor.Words(cause)))
	}
}

// expectRefusalIf expects a refusal for all given causes if refused is true, and no error otherwise.
func expectRefusalIf(refused bool, err error, causes ...string) {
	GinkgoHelper()
	if refused {
		expectRefusal(err, causes...)
	} else {
		Expect(err).NotTo(HaveOccurred())
	}
}

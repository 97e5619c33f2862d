// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strings"
	"testing"

	operatorsv1alpha1 "github.com/operator-framework/api/pkg/operators/v1alpha1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// loaded reads the bundle of the project, so that each test can change its own copy.
func loaded(t *testing.T) *bundle {
	t.Helper()
	b, err := load(folder, config)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func pod(b *bundle) *corev1.PodTemplateSpec {
	return &b.csv.Spec.InstallStrategy.StrategySpec.DeploymentSpecs[0].Spec.Template
}

func inExample(old, replacement string) func(*bundle) {
	return func(b *bundle) {
		b.csv.Annotations["alm-examples"] = strings.Replace(b.csv.Annotations["alm-examples"], old, replacement, 1)
	}
}

// owned returns the description of the kind Memcached in a bundle, to change it.
func owned(b *bundle) *operatorsv1alpha1.CRDDescription {
	return &b.csv.Spec.CustomResourceDefinitions.Owned[0]
}

// object returns the first object of a kind in a bundle, to change it. If there is none, it returns an empty object.
func object(b *bundle, kind string) *unstructured.Unstructured {
	for _, object := range b.objects {
		if object.GetKind() == kind {
			return object
		}
	}
	return &unstructured.Unstructured{}
}

// mutation makes a mistake in a bundle. The test must then report a finding that contains the text want.
type mutation struct {
	mutate func(*bundle)
	want   string
}

// mutations maps each test to the mistakes that it must find, by description.
var mutations = map[string]map[string]mutation{
	"descriptors": {
		"a field without descriptor": {
			func(b *bundle) { owned(b).SpecDescriptors = owned(b).SpecDescriptors[1:] }, "spec.size has no descriptor",
		},
		"an inner field without descriptor": {
			func(b *bundle) {
				owned(b).SpecDescriptors = slices.DeleteFunc(owned(b).SpecDescriptors, func(d operatorsv1alpha1.SpecDescriptor) bool {
					return d.Path == "imagePullSecrets[0].name"
				})
			}, "spec.imagePullSecrets[0].name has no descriptor",
		},
		"a field of the status without descriptor": {
			func(b *bundle) { owned(b).StatusDescriptors = nil }, "status.conditions has no descriptor",
		},
		"a descriptor without field": {
			func(b *bundle) { owned(b).SpecDescriptors[0].Path = "sise" }, "spec.sise has a descriptor but is no field",
		},
		"a descriptor twice": {
			func(b *bundle) {
				owned(b).SpecDescriptors = append(owned(b).SpecDescriptors, owned(b).SpecDescriptors[0])
			}, "spec.size has two descriptors",
		},
		"a descriptor without x-descriptors": {
			func(b *bundle) { owned(b).SpecDescriptors[0].XDescriptors = nil }, "without display name, description or x-descriptors",
		},
		"an x-descriptor that is none": {
			func(b *bundle) { owned(b).SpecDescriptors[0].XDescriptors = []string{"podCount"} }, "which no console knows",
		},
		"a kind without resources": {
			func(b *bundle) { owned(b).Resources = nil }, "list of resources",
		},
		"a CRD that is not owned": {
			func(b *bundle) { b.csv.Spec.CustomResourceDefinitions.Owned = nil }, "is not among the owned",
		},
		"a new field in the CRD": {
			func(b *bundle) {
				spec := b.crds[0].Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"]
				spec.Properties["extstore"] = apiextensionsv1.JSONSchemaProps{}
			}, "spec.extstore has no descriptor",
		},
	},
	"examples": {
		"an example with an unknown field":   {inExample(`"size": 3`, `"size": 3, "sise": 3`), `unknown field "sise"`},
		"an example that the schema refuses": {inExample(`"size": 3`, `"size": 3000`), "less than or equal to 1000"},
		"an example that a rule refuses":     {inExample(`"memory": "128Mi"`, `"memory": "128.5Mi"`), "whole number of MiB"},
		"an example that the operator cannot carry out": {
			func(b *bundle) {
				inExample(`"memory": "128Mi"`, `"memory": "300Mi"`)(b)
				inExample(`"requests": {`, `"limits": {"memory": "545Mi"}, "requests": {`)(b)
			}, "the operator cannot carry it out",
		},
		"an example of another kind":       {inExample(`"kind": "Memcached"`, `"kind": "Redis"`), "Kind=Redis"},
		"an example without a description": {inExample(`"name": "memcached-sample"`, `"name": "other"`), "other has no description"},
		"a description without an example": {
			inExample(`"name": "memcached-sample"`, `"name": "other"`), "memcached-sample, which is no example",
		},
		"no example": {
			func(b *bundle) { b.csv.Annotations["alm-examples"] = "[]" }, "is empty",
		},
	},
	"images": {
		"an image that is not related": {
			func(b *bundle) { pod(b).Spec.Containers[0].Image = "example.com/other:v1" },
			`"example.com/other:v1" of the container manager`,
		},
		"an image of a variable that is not related": {
			func(b *bundle) {
				env := &pod(b).Spec.Containers[0].Env
				*env = append(*env, corev1.EnvVar{Name: "RELATED_IMAGE_X", Value: "x:1"})
			}, `"x:1" of the variable RELATED_IMAGE_X`,
		},
		"an image of an init container": {
			func(b *bundle) {
				pod(b).Spec.InitContainers = []corev1.Container{{Name: "init", Image: "init:1"}}
			}, `"init:1" of the container init`,
		},
		"an image of an example": {inExample(`"size": 3`, `"size": 3, "image": "memcached:1"`), `"memcached:1" of an example`},
		"an image that catalogs show": {
			func(b *bundle) { b.csv.Annotations["containerImage"] = "other:1" }, `"other:1" of the annotation containerImage`,
		},
		"a related image that nothing uses": {
			func(b *bundle) {
				b.csv.Spec.RelatedImages = append(b.csv.Spec.RelatedImages, operatorsv1alpha1.RelatedImage{Name: "x", Image: "x:1"})
			}, "x:1 is a related image that nothing uses",
		},
		"a related image without a name": {
			func(b *bundle) { b.csv.Spec.RelatedImages[0].Name = "" }, "must be one of its own",
		},
	},
	"permissions": {
		"a permission more": {
			func(b *bundle) {
				rules := &b.csv.Spec.InstallStrategy.StrategySpec.Permissions[0].Rules
				*rules = append(*rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}})
			}, `include "get secrets"`,
		},
		"a permission less": {
			func(b *bundle) {
				rules := &b.csv.Spec.InstallStrategy.StrategySpec.Permissions[0].Rules
				*rules = (*rules)[1:]
			}, `lack "create coordination.k8s.io/leases"`,
		},
		"a permission for the whole cluster": {
			func(b *bundle) {
				strategy := &b.csv.Spec.InstallStrategy.StrategySpec
				strategy.ClusterPermissions = append(strategy.ClusterPermissions, strategy.Permissions...)
			}, `cluster permissions include "create apps/deployments"`,
		},
		"a role of its own": {
			func(b *bundle) {
				role := object(b, "Service").DeepCopy()
				role.SetAPIVersion(rbacv1.SchemeGroupVersion.String())
				role.SetKind("ClusterRole")
				role.SetName("viewer")
				b.objects = append(b.objects, role)
			}, "has the ClusterRole viewer, which OLM would never remove",
		},
	},
	"references": {
		"a volume without its Secret, and a certificate in it": {
			func(b *bundle) {
				pod(b).Spec.Volumes = []corev1.Volume{{
					Name:         "certificate",
					VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "metrics-server-cert"}},
				}}
			}, "needs the Secret metrics-server-cert",
		},
		"a volume without its ConfigMap": {
			func(b *bundle) {
				pod(b).Spec.Volumes = []corev1.Volume{{
					Name: "config", VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
						Sources: []corev1.VolumeProjection{{ConfigMap: &corev1.ConfigMapProjection{
							LocalObjectReference: corev1.LocalObjectReference{Name: "settings"},
						}}},
					}},
				}}
			}, "needs the ConfigMap settings",
		},
		"a volume without its claim": {
			func(b *bundle) {
				pod(b).Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
					PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "data"},
				}}}
			}, "needs the PersistentVolumeClaim data",
		},
		"the tutorial's mistake: an argument whose mount is gone": {
			func(b *bundle) {
				args := &pod(b).Spec.Containers[0].Args
				*args = append(*args, "--metrics-cert-path=/tmp/k8s-metrics-server/metrics-certs")
			}, "mounts no volume there",
		},
		"a service account that nobody makes": {
			func(b *bundle) { pod(b).Spec.ServiceAccountName = "other" }, "needs the ServiceAccount other",
		},
		"a priority class that nobody makes": {
			func(b *bundle) { pod(b).Spec.PriorityClassName = "high" }, "needs the PriorityClass high",
		},
		"a variable of a Secret that is not there": {
			func(b *bundle) {
				pod(b).Spec.Containers[0].EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{
					LocalObjectReference: corev1.LocalObjectReference{Name: "settings"},
				}}}
			}, "needs the Secret settings",
		},
		"a Service that selects nothing": {
			func(b *bundle) { pod(b).Labels = nil }, "which no pod of the bundle has",
		},
		"an object in a namespace": {
			func(b *bundle) { object(b, "Service").SetNamespace("system") }, "which is OLM's choice",
		},
		"a webhook that nobody serves": {
			func(b *bundle) {
				b.csv.Spec.WebhookDefinitions = []operatorsv1alpha1.WebhookDescription{
					{GenerateName: "check.example.com", DeploymentName: "other"},
				}
			}, "is served by the Deployment other",
		},
	},
}

func TestMistakesAreFound(t *testing.T) {
	for test := range tests {
		for name, mutation := range mutations[test] {
			t.Run(test+"/"+name, func(t *testing.T) {
				b := loaded(t)
				mutation.mutate(b)
				if got := strings.Join(tests[test](b), "\n"); !strings.Contains(got, mutation.want) {
					t.Errorf("the test reports %q, want something with %q", got, mutation.want)
				}
			})
		}
		if len(mutations[test]) == 0 {
			t.Errorf("no mutation shows what the test %s finds", test)
		}
	}
}

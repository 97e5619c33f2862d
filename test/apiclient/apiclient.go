// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package apiclient makes a Kubernetes client that knows the types of this project.
package apiclient

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// New returns a client for the types of Kubernetes, for CustomResourceDefinitions and for the types of this project. Each function in
// added registers more types.
func New(config *rest.Config, added ...func(*runtime.Scheme) error) (client.WithWatch, error) {
	scheme := runtime.NewScheme()
	known := []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, cachev1alpha1.AddToScheme}
	for _, add := range append(known, added...) {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return client.NewWithWatch(config, client.Options{Scheme: scheme})
}

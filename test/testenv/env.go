// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package testenv configures the API server that tests start, and records the requests of clients.
package testenv

import (
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/repository"
)

// Scheme returns a scheme with the types of Kubernetes and of this project.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(cachev1alpha1.AddToScheme(scheme))
	return scheme
}

// New returns an environment whose API server has the CustomResourceDefinitions of config/crd. The caller starts and stops the
// environment. The variable KUBEBUILDER_ASSETS names the folder of the binaries; "make test" sets it.
func New() *envtest.Environment {
	return &envtest.Environment{
		Scheme:                Scheme(),
		CRDDirectoryPaths:     []string{repository.Path("config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
	}
}

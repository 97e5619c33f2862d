// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package testenv starts the API server for the suites of this repository, and records what a client sends to it.
package testenv

import (
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/repository"
)

// Scheme knows the types of Kubernetes and of this project.
func Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(cachev1alpha1.AddToScheme(scheme))
	return scheme
}

// New returns an environment that has the CustomResourceDefinitions of config/crd. The caller starts and stops it. The
// binaries come from KUBEBUILDER_ASSETS, which make test sets.
func New() *envtest.Environment {
	return &envtest.Environment{
		Scheme:                Scheme(),
		CRDDirectoryPaths:     []string{repository.Path("config", "crd", "bases")},
		ErrorIfCRDPathMissing: true,
	}
}

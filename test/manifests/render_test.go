// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package manifests_test checks the files in config/, and what make and the workflows do.
package manifests_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/example/memcached-operator/test/kustomize"
	"github.com/example/memcached-operator/test/repository"
)

const (
	namespace = "memcached-operator-system"
	manager   = "memcached-operator-controller-manager"
)

func config(dir string) string { return repository.Path("config", dir) }

// withOptional renders config/default with the resources and components that a user can uncomment.
func withOptional(t *testing.T) kustomize.Objects {
	t.Helper()
	return prefixed(t, "")
}

// prefixed is like withOptional, but renders through another kustomization that adds a prefix to all names, as a user would.
func prefixed(t *testing.T, prefix string) kustomize.Objects {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(config(""))); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "default", "kustomization.yaml")
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(repository.ReadFile(t, file), "\n#- ", "\n- ")), 0o600); err != nil {
		t.Fatal(err)
	}
	overlay := "namePrefix: '" + prefix + "'\nresources: [ default ]\n"
	if err := os.WriteFile(filepath.Join(dir, kustomization), []byte(overlay), 0o600); err != nil {
		t.Fatal(err)
	}
	return kustomize.Render(t, dir)
}

func container(t *testing.T, all kustomize.Objects) corev1.Container {
	t.Helper()
	template := kustomize.Find[appsv1.Deployment](t, all, "Deployment", manager).Spec.Template
	return repository.TheOnly(t, template.Spec.Containers, "containers of the operator")
}

func env(t *testing.T, all kustomize.Objects, name string) corev1.EnvVar {
	t.Helper()
	for _, variable := range container(t, all).Env {
		if variable.Name == name {
			return variable
		}
	}
	t.Fatalf("the operator has no environment variable %s", name)
	return corev1.EnvVar{}
}

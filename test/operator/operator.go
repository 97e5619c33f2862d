// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package operator installs the operator on a cluster of package simulated. It runs the operator as a local process, with the
// arguments and environment variables in config/manager. The working directory must be the root of the repository.
package operator

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/process"
	"github.com/example/memcached-operator/test/simulated"
)

// Paths relative to the root of the repository.
const (
	Binary      = "bin/manager"
	ManagerFile = "config/manager/manager.yaml"
)

// Namespace is where config/default installs the operator.
const Namespace = "memcached-operator-system"

const (
	// grace is the termination grace period of the operator, as in config/manager.
	grace = 10 * time.Second
	// readyPoll is how often UntilReady polls. Readiness cannot be watched.
	readyPoll = 20 * time.Millisecond
)

// Operator is a running process of the operator.
type Operator struct {
	*process.Process

	health string
}

// Start starts the operator with a kubeconfig file, and does not wait until the operator is ready.
func Start(cluster *simulated.Cluster, kubeconfig, name string) (*Operator, error) {
	port, err := simulated.FreePort()
	if err != nil {
		return nil, err
	}
	health := fmt.Sprintf("127.0.0.1:%d", port)
	manager, err := Container()
	if err != nil {
		return nil, err
	}
	binary, err := filepath.Abs(Binary)
	if err != nil {
		return nil, err
	}
	// The operator inherits only PATH. Otherwise, for example, WATCH_NAMESPACE in the user's shell would change what the operator does.
	variables := []string{"HOME=" + cluster.Dir(), "PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + kubeconfig}
	for _, variable := range manager.Env {
		variables = append(variables, variable.Name+"="+variable.Value)
	}
	p, err := process.Start(process.Spec{
		Name:    name,
		Path:    binary,
		Args:    append(manager.Args, "--health-probe-bind-address="+health, "--leader-election-namespace="+Namespace),
		Env:     variables,
		Dir:     cluster.Dir(),
		LogFile: LogFile(cluster, name),
	})
	if err != nil {
		return nil, err
	}
	return &Operator{Process: p, health: "http://" + health + "/readyz"}, nil
}

// LogFile returns the path of the log of the operator with this name.
func LogFile(cluster *simulated.Cluster, name string) string {
	return filepath.Join(cluster.Dir(), name+".log")
}

// UntilReady waits until the operator is ready: its caches are synced.
func (o *Operator) UntilReady(ctx context.Context, timeout time.Duration) error {
	return o.UntilServing(ctx, o.health, readyPoll, timeout)
}

// Stop stops the operator as the kubelet stops a container: with SIGTERM, then after the grace period with SIGKILL.
func (o *Operator) Stop() error { return o.Process.Stop(grace) }

// Container returns the container of the operator in config/manager.
func Container() (*corev1.Container, error) {
	content, err := os.ReadFile(ManagerFile)
	if err != nil {
		return nil, err
	}
	documents := bytes.Split(content, []byte("\n---\n")) // the last one is the Deployment
	deployment := &appsv1.Deployment{}
	if err := yaml.UnmarshalStrict(documents[len(documents)-1], deployment); err != nil {
		return nil, fmt.Errorf("reading %s: %w", ManagerFile, err)
	}
	return &deployment.Spec.Template.Spec.Containers[0], nil
}

// DefaultImage returns the operator's default memcached image, from config/manager.
func DefaultImage() (string, error) {
	manager, err := Container()
	if err != nil {
		return "", err
	}
	for _, variable := range manager.Env {
		if variable.Name == "RELATED_IMAGE_MEMCACHED" {
			return variable.Value, nil
		}
	}
	return "", fmt.Errorf("%s names no memcached image", ManagerFile)
}

// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package simulated runs a Kubernetes cluster on this machine, without root, containers or a network. etcd, kube-apiserver,
// kube-controller-manager and kube-scheduler are real, and kwok simulates the cluster nodes and pods. Objects behave as in any cluster:
// admission, garbage collection, Deployments, scheduling, disruption budgets and endpoints work. But no container runs: kwok marks
// each scheduled pod as Ready.
//
// Only the API server listens on a TCP port, on the loopback interface. A cluster keeps its files in a temporary directory, which
// Stop removes.
package simulated

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/rest"

	"github.com/example/memcached-operator/test/credentials"
	"github.com/example/memcached-operator/test/process"
)

// stopGrace is how long a component may take to end before it is killed.
const stopGrace = 10 * time.Second

// tailLines is the number of last log lines that an error shows for each component after a timeout.
const tailLines = 5

// mastersGroup has all permissions in Kubernetes. schedulerUser has the permissions of a scheduler.
const (
	mastersGroup  = "system:masters"
	schedulerUser = "system:kube-scheduler"
)

// fileNameOf turns a user name into a file name. A colon is replaced, because it separates the files in the variable KUBECONFIG.
var fileNameOf = strings.NewReplacer("/", "-", ":", "-")

// Options describe the cluster to start.
type Options struct {
	// BinaryDir is the directory with the programs that hack/binaries.sh builds.
	BinaryDir string
	// Nodes is the number of simulated cluster nodes.
	Nodes int
	// Prepare, if set, is called when the API server is ready, before other components start. It should create CRDs: the garbage
	// collector discovers existing kinds when it starts, but later kinds only after half a minute or more.
	Prepare func(context.Context, *Cluster) error
	// AuditPolicy, if set, selects the requests that the API server writes to the audit log: see Cluster.AuditLog.
	AuditPolicy []byte
}

// Cluster is a running simulated cluster.
type Cluster struct {
	// Config is the client configuration of the cluster's administrator. It has no rate limit.
	Config *rest.Config

	dir        string
	binaries   string
	ca         *credentials.Authority
	components []*process.Process
	failed     chan error
	stopping   chan struct{}
}

// Start starts a cluster. It returns when pods can be created and the cluster nodes are Ready. If a step fails or the context ends first,
// Start removes everything. The error shows the end of the log of a failed component or, after a timeout, of all components.
func Start(ctx context.Context, opts Options) (*Cluster, error) {
	dir, err := os.MkdirTemp("", "simulated-cluster-")
	if err != nil {
		return nil, err
	}
	c := &Cluster{dir: dir, binaries: opts.BinaryDir, failed: make(chan error, 1), stopping: make(chan struct{})}
	err = c.start(ctx, opts)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("%w\n%s", err, c.tails())
	}
	if err != nil {
		return nil, errors.Join(err, c.Stop())
	}
	return c, nil
}

// start runs the steps in the order of their dependencies. It fails at once if a component exits.
func (c *Cluster) start(ctx context.Context, opts Options) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case err := <-c.failed:
			cancel(err)
		case <-ctx.Done():
		}
	}()
	if err := c.startAPIServer(ctx, opts.AuditPolicy); err != nil {
		return err
	}
	if opts.Prepare != nil {
		if err := opts.Prepare(ctx, c); err != nil {
			return reasonOf(ctx, err)
		}
	}
	if err := c.startControllers(); err != nil {
		return err
	}
	return c.startNodes(ctx, opts.Nodes)
}

// Dir returns the temporary directory of the cluster. Stop removes it.
func (c *Cluster) Dir() string { return c.dir }

// AuditLog returns the path of the audit log. The API server writes one event per line, before it responds to the request.
func (c *Cluster) AuditLog() string { return filepath.Join(c.dir, auditLogFile) }

// Failed returns a channel that receives an error when a component exits unexpectedly. The error shows the end of the component's
// log.
func (c *Cluster) Failed() <-chan error { return c.failed }

// KubeconfigFile writes a kubeconfig file for a user, and returns its path. The user has the permissions that RBAC in the cluster
// grants to the name and to the groups. Stop removes the file.
func (c *Cluster) KubeconfigFile(user string, groups ...string) (string, error) {
	path := filepath.Join(c.dir, fileNameOf.Replace(user)+".kubeconfig")
	return path, c.ca.WriteKubeconfig(path, c.Config.Host, user, groups...)
}

// Stop ends all components in the reverse order of their start, and removes the cluster's directory. It must be called only once.
func (c *Cluster) Stop() error {
	close(c.stopping)
	var failures []error
	for _, component := range slices.Backward(c.components) {
		failures = append(failures, component.Stop(stopGrace))
	}
	return errors.Join(append(failures, os.RemoveAll(c.dir))...)
}

// run starts a component. When the component exits unexpectedly, c.failed receives the error.
func (c *Cluster) run(name string, args []string) error {
	path, err := filepath.Abs(filepath.Join(c.binaries, name))
	if err != nil {
		return err
	}
	component, err := process.Start(process.Spec{
		Name: name,
		Path: path,
		Args: args,
		// With the user's home, kwok would read the user's configuration.
		Env:     []string{"HOME=" + c.dir, "PATH=" + os.Getenv("PATH")},
		Dir:     c.dir,
		LogFile: filepath.Join(c.dir, name+".log"),
	})
	if err != nil {
		return err
	}
	c.components = append(c.components, component)
	go func() {
		<-component.Done()
		select {
		case <-c.stopping:
		case c.failed <- component.Err():
		}
	}()
	return nil
}

func (c *Cluster) tails() string {
	var tails strings.Builder
	for _, component := range c.components {
		fmt.Fprintf(&tails, "%s:\n%s\n", component.Name(), component.Tail(tailLines))
	}
	return tails.String()
}

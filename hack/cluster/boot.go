// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/example/memcached-operator/test/process"
)

// stepDeadline is how long a step of boot waits for one result.
const stepDeadline = 3 * time.Minute

// reap runs in the first process of the namespaces. It starts the second process, which runs boot. Containers leave many orphaned
// processes. The kernel makes the first process their parent, so reap waits for all child processes.
func reap(name string) error {
	boot := exec.Command("/proc/self/exe", "--name", name, secondProcess)
	boot.Stdout, boot.Stderr = os.Stdout, os.Stderr
	if err := boot.Start(); err != nil {
		return err
	}
	// os.Stdout is a pipe. The method start reads from it until all writers have closed it. Only the second process may remain a writer.
	if err := os.Stdout.Close(); err != nil {
		return err
	}
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return err
		case pid == boot.Process.Pid:
			return fmt.Errorf("the boot has ended with status %d", status.ExitStatus())
		}
	}
}

// booting is a cluster that is being started.
type booting struct {
	*cluster
	failed chan error
}

// boot starts the cluster step by step, and reports each step with the time that it took. It then keeps running as the parent of the
// components.
func (c *cluster) boot(ctx context.Context) error {
	// exec.Command searches the PATH of this process, not the PATH in the environment of the command.
	if err := os.Setenv("PATH", c.binary("")+":"+os.Getenv("PATH")); err != nil {
		return err
	}
	b := &booting{cluster: c, failed: make(chan error)}
	if err := b.takeSteps(ctx); err != nil {
		return err
	}
	if err := os.WriteFile(c.file("ready"), nil, 0o600); err != nil {
		return err
	}
	if err := os.Stdout.Close(); err != nil {
		return err
	}
	for {
		select {
		case err := <-b.failed:
			// The cluster keeps running, because a test may have ended the component, and may start it again.
			fmt.Fprintln(os.Stderr, err)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// takeSteps takes one step after another. If a component ends meanwhile, the current step fails.
func (b *booting) takeSteps(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case err := <-b.failed:
			cancel(err)
		case <-ctx.Done():
		}
	})
	defer watch.Wait()
	defer cancel(nil)
	for _, step := range []struct {
		title string
		take  func(context.Context) error
	}{
		{"mounts, network and cgroups", b.isolate},
		{"certificates and configuration", b.configure},
		{"etcd and the API server", b.startAPIServer},
		{"the controllers, containerd and the registry", b.startControllers},
		{"the kubelet: a node that is Ready", b.startNode},
		{"CoreDNS: a name that resolves", b.startDNS},
	} {
		start := time.Now()
		if err := step.take(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.title, errors.Join(err, context.Cause(ctx)))
		}
		fmt.Fprintf(b.out, "  %5.1f s  %s\n", time.Since(start).Seconds(), step.title)
	}
	return nil
}

// run starts a component of the cluster. When the component ends, run sends its error to the channel b.failed.
func (b *booting) run(spec component) error {
	p, err := process.Start(process.Spec{
		Name:    spec.name,
		Path:    b.binary(spec.name),
		Args:    spec.args,
		Env:     []string{"HOME=" + b.dir, "PATH=" + b.binary("") + ":" + os.Getenv("PATH")},
		Dir:     b.dir,
		LogFile: b.file(spec.name + ".log"),
	})
	if err != nil {
		return err
	}
	go func() { b.failed <- p.Err() }()
	return nil
}

func (b *booting) startAPIServer(ctx context.Context) error {
	for _, c := range []component{etcd(b.cluster), apiServer(b.cluster)} {
		if err := b.run(c); err != nil {
			return err
		}
	}
	return b.until(ctx, "kubectl", "get", "--raw", "/readyz")
}

// startControllers starts the controllers, containerd and the registry. It does not wait for them: later steps wait for their effects.
func (b *booting) startControllers(context.Context) error {
	for _, c := range []component{controllerManager(b.cluster), scheduler(b.cluster), containerd(b.cluster)} {
		if err := b.run(c); err != nil {
			return err
		}
	}
	return b.startRegistry()
}

func (b *booting) startNode(ctx context.Context) error {
	if err := b.until(ctx, "test", "-S", containerdSocket); err != nil {
		return err
	}
	for _, c := range []component{kubelet(b.cluster), kubeProxy(b.cluster)} {
		if err := b.run(c); err != nil {
			return err
		}
	}
	if err := b.until(ctx, "kubectl", "get", "node", nodeName); err != nil {
		return err
	}
	return b.command(ctx, "kubectl", "wait", "node", nodeName, "--for=condition=Ready", "--timeout="+stepDeadline.String())
}

func (b *booting) startDNS(ctx context.Context) error {
	if err := b.command(ctx, "kubectl", "apply", "-f", b.file("coredns.yaml")); err != nil {
		return err
	}
	err := b.command(ctx, "kubectl", "--namespace=kube-system", "rollout", "status", "deployment/coredns", "--timeout="+stepDeadline.String())
	if err != nil {
		return err
	}
	// The name resolves only if kube-proxy works. Pods can be created only after the ServiceAccount "default" exists.
	if err := b.until(ctx, "getent", "ahosts", "kubernetes.default.svc.cluster.local"); err != nil {
		return err
	}
	return b.until(ctx, "kubectl", "get", "serviceaccount", "default")
}

// until repeats a command until it succeeds. It does not use watches, because the API server may not serve yet.
func (b *booting) until(ctx context.Context, name string, args ...string) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, stepDeadline, true, func(ctx context.Context) (bool, error) {
		last = b.command(ctx, name, args...)
		return last == nil, nil
	})
	if err != nil {
		return errors.Join(err, last)
	}
	return nil
}

func (b *booting) command(ctx context.Context, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = b.root, b.environment()
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", cmd, err, output)
	}
	return nil
}

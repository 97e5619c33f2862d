// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/example/memcached-operator/test/process"
	"github.com/example/memcached-operator/test/simulated"
)

const (
	// operatorGrace is the termination grace period of the operator, as in config/manager.
	operatorGrace = 10 * time.Second
	// startDeadline limits the start of the operator, including its caches.
	startDeadline = 5 * time.Minute
	// readyPoll is short because the readiness of the operator cannot be watched.
	readyPoll = 20 * time.Millisecond
)

// operator is a replica of the operator that runs as a process on this machine and has its own user.
type operator struct {
	*process.Process

	user    string
	health  string
	metrics *metricsClient
	// stopping is set when the benchmark ends the operator.
	stopping atomic.Bool
}

// newOperator starts the operator as config/manager runs it, except for its addresses and additional environment variables,
// and does not wait for it. It ends with the testbed.
func (t *testbed) newOperator(ctx context.Context, environment ...string) (*operator, error) {
	o := &operator{user: fmt.Sprintf("operator-%d", len(t.operators)+1)}
	kubeconfig, err := t.cluster.KubeconfigFile(o.user, measured, serviceAccounts)
	if err != nil {
		return nil, err
	}
	health, err := freeAddress()
	if err != nil {
		return nil, err
	}
	endpoint, err := freeAddress()
	if err != nil {
		return nil, err
	}
	o.health = "http://" + health + "/readyz"
	if o.metrics, err = t.newMetricsClient(ctx, "https://"+endpoint+"/metrics"); err != nil {
		return nil, err
	}
	manager, err := managerContainer()
	if err != nil {
		return nil, err
	}
	env := []string{"HOME=" + t.cluster.Dir(), "PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + kubeconfig}
	for _, variable := range manager.Env {
		env = append(env, variable.Name+"="+variable.Value)
	}
	binary, err := filepath.Abs(operatorBinary)
	if err != nil {
		return nil, err
	}
	o.Process, err = process.Start(process.Spec{
		Name: o.user,
		Path: binary,
		Args: append(manager.Args, "--leader-election-namespace="+operatorNamespace,
			"--health-probe-bind-address="+health, "--metrics-bind-address="+endpoint),
		Env:     append(env, environment...),
		Dir:     t.cluster.Dir(),
		LogFile: filepath.Join(t.cluster.Dir(), o.user+".log"),
	})
	if err != nil {
		return nil, err
	}
	t.operators = append(t.operators, o)
	go func() {
		if err := o.Err(); !o.stopping.Load() {
			select {
			case t.exited <- err:
			default:
			}
		}
	}()
	return o, nil
}

// startOperator starts the operator and waits until it is ready: its caches are synced.
func (t *testbed) startOperator(ctx context.Context, environment ...string) (*operator, error) {
	o, err := t.newOperator(ctx, environment...)
	if err != nil {
		return nil, err
	}
	_, err = o.awaitReady(ctx)
	return o, err
}

// startOperatorFor creates the namespaces of n Memcacheds, counts the Memcacheds that are Ready, and starts the operator.
func (t *testbed) startOperatorFor(ctx context.Context, n int) (*operator, *counter, error) {
	if err := t.createNamespaces(ctx, n, true); err != nil {
		return nil, nil, err
	}
	ready, err := t.countObjects(ctx, memcachedList(), isReady)
	if err != nil {
		return nil, nil, err
	}
	o, err := t.startOperator(ctx)
	if err != nil {
		ready.stop()
	}
	return o, ready, err
}

// awaitReady returns when the operator reported that it is ready.
func (o *operator) awaitReady(ctx context.Context) (time.Time, error) {
	err := o.poll(ctx, readyPoll, "be ready", func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, o.health, http.NoBody)
		if err != nil {
			return false, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, nil //nolint:nilerr // it does not listen yet
		}
		return response.StatusCode == http.StatusOK, response.Body.Close()
	})
	return time.Now(), err
}

// poll waits until the condition is true. It fails when the operator exits or startDeadline has passed.
func (o *operator) poll(
	ctx context.Context, interval time.Duration, what string, condition wait.ConditionWithContextFunc,
) error {
	err := wait.PollUntilContextTimeout(ctx, interval, startDeadline, true, func(ctx context.Context) (bool, error) {
		select {
		case <-o.Done():
			return false, o.Err()
		default:
			return condition(ctx)
		}
	})
	if err != nil {
		return fmt.Errorf("waiting for %s to %s: %w", o.user, what, err)
	}
	return nil
}

// stop ends the operator as the kubelet ends a container.
func (o *operator) stop() error {
	o.stopping.Store(true)
	return o.Stop(operatorGrace)
}

func (o *operator) signal(signal syscall.Signal) error {
	o.stopping.Store(true)
	return syscall.Kill(o.Pid(), signal)
}

// managerContainer returns the container of the operator in config/manager.
func managerContainer() (*corev1.Container, error) {
	deployment := &appsv1.Deployment{}
	if err := readYAML(managerFile, deployment); err != nil {
		return nil, err
	}
	return &deployment.Spec.Template.Spec.Containers[0], nil
}

// memoryLimit is the memory limit of the operator in MiB.
func memoryLimit() (float64, error) {
	manager, err := managerContainer()
	if err != nil {
		return 0, err
	}
	limit := manager.Resources.Limits.Memory()
	if limit.IsZero() {
		return 0, fmt.Errorf("%s has no memory limit", managerFile)
	}
	return limit.AsApproximateFloat64() / mebibyte, nil
}

// defaultImage is the memcached image in the environment of the operator.
func defaultImage() (string, error) {
	manager, err := managerContainer()
	if err != nil {
		return "", err
	}
	for _, variable := range manager.Env {
		if variable.Name == "RELATED_IMAGE_MEMCACHED" {
			return variable.Value, nil
		}
	}
	return "", fmt.Errorf("%s names no memcached image", managerFile)
}

func freeAddress() (string, error) {
	port, err := simulated.FreePort()
	return fmt.Sprintf("127.0.0.1:%d", port), err
}

// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
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
	// operatorGrace is how long the operator may take to end, as in config/manager.
	operatorGrace = 10 * time.Second
	// startDeadline bounds the start of the operator, its caches included.
	startDeadline = 5 * time.Minute
	// readyPoll is short: the readiness of the operator cannot be watched.
	readyPoll = 20 * time.Millisecond
)

// operator is a replica of the operator as a process of this machine, with a user of its own.
type operator struct {
	*process.Process

	user    string
	health  string
	metrics *metricsClient
	// asked is whether the benchmark has asked it to end.
	asked atomic.Bool
}

// newOperator starts the operator as config/manager runs it, but for its addresses and more environment. It does not wait.
// The operator ends with the rig.
func (r *rig) newOperator(ctx context.Context, environment ...string) (*operator, error) {
	o := &operator{user: fmt.Sprintf("operator-%d", len(r.operators)+1)}
	kubeconfig, err := r.cluster.KubeconfigFile(o.user, measured, serviceAccounts)
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
	if o.metrics, err = r.newMetricsClient(ctx, "https://"+endpoint+"/metrics"); err != nil {
		return nil, err
	}
	args, env, err := invocation()
	if err != nil {
		return nil, err
	}
	binary, err := filepath.Abs(operatorBinary)
	if err != nil {
		return nil, err
	}
	o.Process, err = process.Start(process.Spec{
		Name: o.user,
		Path: binary,
		Args: append(args, "--leader-election-namespace="+operatorNamespace,
			"--health-probe-bind-address="+health, "--metrics-bind-address="+endpoint),
		Env:     append(append(env, "HOME="+r.cluster.Dir(), "PATH="+os.Getenv("PATH"), "KUBECONFIG="+kubeconfig), environment...),
		Dir:     r.cluster.Dir(),
		LogFile: filepath.Join(r.cluster.Dir(), o.user+".log"),
	})
	if err != nil {
		return nil, err
	}
	r.operators = append(r.operators, o)
	go func() {
		if err := o.Err(); !o.asked.Load() {
			select {
			case r.ended <- err:
			default:
			}
		}
	}()
	return o, nil
}

// startOperator starts the operator and waits until it is ready: its caches are full.
func (r *rig) startOperator(ctx context.Context, environment ...string) (*operator, error) {
	o, err := r.newOperator(ctx, environment...)
	if err != nil {
		return nil, err
	}
	_, err = o.awaitReady(ctx)
	return o, err
}

// awaitReady returns when the operator said that it is ready.
func (o *operator) awaitReady(ctx context.Context) (time.Time, error) {
	ready := func(ctx context.Context) (bool, error) {
		select {
		case <-o.Done():
			return false, o.Err()
		default:
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, o.health, http.NoBody)
		if err != nil {
			return false, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, nil //nolint:nilerr // it does not listen yet
		}
		return response.StatusCode == http.StatusOK, response.Body.Close()
	}
	if err := wait.PollUntilContextTimeout(ctx, readyPoll, startDeadline, true, ready); err != nil {
		return time.Time{}, fmt.Errorf("waiting for %s to be ready: %w", o.user, err)
	}
	return time.Now(), nil
}

// stop ends the operator as Kubernetes ends a pod.
func (o *operator) stop() error {
	o.asked.Store(true)
	return o.Stop(operatorGrace)
}

// signal sends a signal to the operator.
func (o *operator) signal(signal syscall.Signal) error {
	o.asked.Store(true)
	return syscall.Kill(o.Pid(), signal)
}

// manager returns the container of the operator in config/manager.
func manager() (*corev1.Container, error) {
	deployment := &appsv1.Deployment{}
	if err := readYAML(managerFile, deployment); err != nil {
		return nil, err
	}
	return &deployment.Spec.Template.Spec.Containers[0], nil
}

// memoryLimit is how many MiB of memory the operator may use.
func memoryLimit() (float64, error) {
	manager, err := manager()
	if err != nil {
		return 0, err
	}
	limit := manager.Resources.Limits.Memory()
	if limit.IsZero() {
		return 0, fmt.Errorf("%s has no memory limit", managerFile)
	}
	return limit.AsApproximateFloat64() / mebibyte, nil
}

// invocation returns the arguments and the environment of the operator in config/manager.
func invocation() (args, env []string, err error) {
	manager, err := manager()
	if err != nil {
		return nil, nil, err
	}
	for _, variable := range manager.Env {
		env = append(env, variable.Name+"="+variable.Value)
	}
	return manager.Args, env, nil
}

// defaultImage is the memcached image in the environment of the operator.
func defaultImage() (string, error) {
	_, env, err := invocation()
	for _, variable := range env {
		if image, ok := strings.CutPrefix(variable, "RELATED_IMAGE_MEMCACHED="); ok {
			return image, err
		}
	}
	return "", errors.Join(err, fmt.Errorf("%s names no memcached image", managerFile))
}

func freeAddress() (string, error) {
	port, err := simulated.FreePort()
	return fmt.Sprintf("127.0.0.1:%d", port), err
}

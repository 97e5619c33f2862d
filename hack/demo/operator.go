// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/example/memcached-operator/test/process"
	"github.com/example/memcached-operator/test/simulated"
)

const (
	// operatorUser has the permissions of config/rbac/role.yaml and no others.
	operatorUser = "memcached-operator"
	defaultImage = "docker.io/library/memcached:1.6.45"
	// readyPoll is short: the operator's readiness cannot be watched.
	readyPoll = 100 * time.Millisecond
)

// startOperator runs the operator as a process of this machine and waits until it is ready.
func (d *demo) startOperator(ctx context.Context) error {
	if err := d.permitOperator(ctx); err != nil {
		return err
	}
	kubeconfig, err := d.cluster.KubeconfigFile(operatorUser)
	if err != nil {
		return err
	}
	port, err := simulated.FreePort()
	if err != nil {
		return err
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	binary, err := filepath.Abs(operatorBinary)
	if err != nil {
		return err
	}
	d.operator, err = process.Start(process.Spec{
		Name: "the operator",
		Path: binary,
		Args: []string{"--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address=" + address},
		// A WATCH_NAMESPACE of the terminal must not reach it.
		Env: []string{
			"HOME=" + d.cluster.Dir(), "PATH=" + os.Getenv("PATH"),
			"KUBECONFIG=" + kubeconfig, "RELATED_IMAGE_MEMCACHED=" + defaultImage,
		},
		Dir:     d.cluster.Dir(),
		LogFile: d.operatorLog(),
	})
	if err != nil {
		return err
	}
	return d.waitForOperator(ctx, "http://"+address+"/readyz")
}

func (d *demo) operatorLog() string { return filepath.Join(d.cluster.Dir(), "operator.log") }

// permitOperator binds the operator's user to its generated role.
func (d *demo) permitOperator(ctx context.Context) error {
	role := &rbacv1.ClusterRole{}
	if err := d.create(ctx, roleFile, role); err != nil {
		return err
	}
	return d.k8s.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: operatorUser},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: operatorUser}},
	})
}

func (d *demo) waitForOperator(ctx context.Context, url string) error {
	ready := func(ctx context.Context) (bool, error) {
		select {
		case <-d.operator.Done():
			return false, d.operator.Err()
		default:
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
		if err != nil {
			return false, err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return false, nil //nolint:nilerr // it does not listen yet
		}
		return response.StatusCode == http.StatusOK, response.Body.Close()
	}
	if err := wait.PollUntilContextTimeout(ctx, readyPoll, stepDeadline, true, ready); err != nil {
		return fmt.Errorf("waiting for the operator to be ready: %w", err)
	}
	return nil
}

// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// How often and how long the operator looks for the CRD of Memcacheds. The operator must start to listen within a minute, or the
// kubelet restarts it.
const (
	crdInterval = time.Second
	crdTimeout  = 45 * time.Second
)

// AwaitCRD waits until the API server serves Memcacheds. That takes some seconds if the CRD and the operator were created together.
func AwaitCRD(ctx context.Context, mapper meta.RESTMapper) error {
	kind, told := cachev1alpha1.GroupVersion.WithKind("Memcached"), false
	err := wait.PollUntilContextTimeout(ctx, crdInterval, crdTimeout, true, func(context.Context) (bool, error) {
		_, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if !meta.IsNoMatchError(err) {
			return true, err
		}
		if !told {
			ctrl.Log.Info("Waiting until the API server serves the CRD memcacheds." + kind.Group)
			told = true
		}
		return false, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("the API server does not serve %s: install the CRD memcacheds.%s of this version", kind, kind.Group)
	}
	return err
}

// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
)

// openShiftGroup is the API group of OpenShift's SecurityContextConstraints. These refuse pods with a fixed user.
const openShiftGroup = "security.openshift.io"

// OmitRunAsUser decides whether the cluster chooses the user of memcached pods. The setting is one of Go's boolean words, or auto: then
// OmitRunAsUser asks whether the cluster is OpenShift. Without an answer it fails, because a wrong guess would replace every pod.
func OmitRunAsUser(ctx context.Context, config *rest.Config, setting string) (bool, error) {
	omit, err := strconv.ParseBool(setting)
	if err != nil {
		if omit, err = isOpenShift(ctx, config); err != nil {
			return false, fmt.Errorf("find out whether the cluster is OpenShift, unless --omit-run-as-user or OMIT_RUN_AS_USER "+
				"is true or false: %w", err)
		}
	}
	ctrl.Log.Info("Decided whether the cluster chooses the user of memcached pods", "omitRunAsUser", omit, "setting", setting)
	return omit, nil
}

// LacksMatchLabelKeys reports whether the cluster is older than Kubernetes 1.31, and ignores matchLabelKeys in the affinity of pods.
func LacksMatchLabelKeys(config *rest.Config) (bool, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return false, err
	}
	found, err := client.ServerVersion()
	if err != nil {
		return false, fmt.Errorf("ask for the version of Kubernetes: %w", err)
	}
	parsed, err := version.ParseGeneric(found.String())
	return err == nil && parsed.LessThan(version.MajorMinor(1, 31)), err
}

// isOpenShift reports whether the cluster lists openShiftGroup. The cluster lists it even while the server of that group is down.
func isOpenShift(ctx context.Context, config *rest.Config) (bool, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return false, err
	}
	err = client.RESTClient().Get().AbsPath("/apis", openShiftGroup).Do(ctx).Error()
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

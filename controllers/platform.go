// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/example/memcached-operator/internal/memcached"
)

// The flag and the environment variable for OmitRunAsUser. An OLM Subscription can set only variables.
const (
	OmitRunAsUserFlag     = "omit-run-as-user"
	OmitRunAsUserVariable = "OMIT_RUN_AS_USER"
)

// AgentImageVariable is the environment variable with the image of agents and launchers.
const AgentImageVariable = memcached.AgentImageVariable

// openShiftGroup is the API group of OpenShift's SecurityContextConstraints. These refuse pods with a fixed user.
const openShiftGroup = "security.openshift.io"

// OmitRunAsUser is a flag that decides whether the cluster chooses the user of memcached pods. It is true, false, auto (true on
// OpenShift), or empty (not set). The flag without a value means true.
type OmitRunAsUser string

const omitRunAsUserAuto OmitRunAsUser = "auto"

// String implements flag.Value.
func (o *OmitRunAsUser) String() string { return string(*o) }

// Set implements flag.Value. It accepts auto and Go's boolean words.
func (o *OmitRunAsUser) Set(value string) error {
	if value == string(omitRunAsUserAuto) {
		*o = omitRunAsUserAuto
		return nil
	}
	omit, err := strconv.ParseBool(value)
	if err != nil {
		return errors.New("must be auto, true or false")
	}
	*o = OmitRunAsUser(strconv.FormatBool(omit))
	return nil
}

// IsBoolFlag makes the value of the flag optional.
func (*OmitRunAsUser) IsBoolFlag() bool { return true }

// Default applies the value of the environment variable, unless the flag was given. An empty value means auto.
func (o *OmitRunAsUser) Default(variable string) error {
	var value OmitRunAsUser
	if err := value.Set(cmp.Or(variable, string(omitRunAsUserAuto))); err != nil {
		return fmt.Errorf("the environment variable %s holds %q, but %w", OmitRunAsUserVariable, variable, err)
	}
	*o = cmp.Or(*o, value)
	return nil
}

// Decide resolves auto by asking the cluster. If the cluster does not answer, Decide returns an error, because a wrong guess would
// replace every pod.
func (o *OmitRunAsUser) Decide(ctx context.Context, config *rest.Config) (bool, error) {
	omit, because := *o == "true", fmt.Sprintf("--%s or %s says so", OmitRunAsUserFlag, OmitRunAsUserVariable)
	if *o == omitRunAsUserAuto {
		openShift, err := isOpenShift(ctx, config)
		if err != nil {
			return false, fmt.Errorf("find out whether the cluster is OpenShift, unless --%s or %s is true or false: %w",
				OmitRunAsUserFlag, OmitRunAsUserVariable, err)
		}
		omit, because = openShift, "the cluster has no API group "+openShiftGroup
		if openShift {
			because = "the cluster has the API group " + openShiftGroup
		}
	}
	ctrl.Log.Info("Decided whether the cluster chooses the user of memcached pods", "omitRunAsUser", omit, "because", because)
	return omit, nil
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

// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package upgradeable tells OLM v0 whether it may upgrade the operator, in the condition Upgradeable of the operator's
// OperatorCondition.
package upgradeable

import (
	"context"
	"os"
	"time"

	operatorsv2 "github.com/operator-framework/api/pkg/operators/v2"
	"github.com/operator-framework/operator-lib/conditions"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/status"
)

// OperatorConditionVariable is the environment variable with the name of the operator's OperatorCondition. Only OLM v0 sets it.
const OperatorConditionVariable = "OPERATOR_CONDITION_NAME"

const (
	period = 5 * time.Second
	// quietPeriod is how long OLM must wait after a rollout, because another rollout may be about to begin.
	quietPeriod = 30 * time.Second
	// grace is added to the progress deadline of a rollout. If the Memcached has not changed for longer than the deadline plus grace, its
	// rollout no longer blocks an upgrade. Otherwise, an operator that cannot write statuses would block the upgrade that repairs it.
	grace = 5 * time.Minute
	// rollingOut is the name of the index of Memcacheds with a rollout.
	rollingOut = "rollingOut"
)

// Reporter reports to OLM. It runs in the leader.
type Reporter struct {
	Cache     client.Reader
	Condition conditions.Condition
	Clock     clock.PassiveClock

	// seen holds when the current version of each Memcached with a rollout was first seen. A key is a UID followed by a resource version.
	seen         map[string]time.Time
	lastProgress time.Time
	// reported is the condition's status in the OperatorCondition, empty if unknown.
	reported metav1.ConditionStatus
	failure  string
}

// SetupWithManager adds a Reporter if OLM v0 installed the operator. The Reporter reads the OperatorCondition without a cache,
// because OLM permits get, update and patch of it, but no watch.
func SetupWithManager(ctx context.Context, mgr ctrl.Manager) error {
	if os.Getenv(OperatorConditionVariable) == "" {
		return nil
	}
	scheme := runtime.NewScheme()
	if err := operatorsv2.AddToScheme(scheme); err != nil {
		return err
	}
	uncached, err := client.New(mgr.GetConfig(), client.Options{HTTPClient: mgr.GetHTTPClient(), Mapper: mgr.GetRESTMapper(), Scheme: scheme})
	if err != nil {
		return err
	}
	condition, err := conditions.InClusterFactory{Client: uncached}.NewCondition(operatorsv2.ConditionType(operatorsv2.Upgradeable))
	if err != nil {
		mgr.GetLogger().Info("OLM does not learn whether it may upgrade the operator: outside of a pod, unset "+OperatorConditionVariable,
			"error", err.Error())
		return nil
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &cachev1alpha1.Memcached{}, rollingOut, func(object client.Object) []string {
		if mc, ok := object.(*cachev1alpha1.Memcached); !ok || !status.RollingOut(mc) {
			return nil
		}
		return []string{"true"}
	}); err != nil {
		return err
	}
	return mgr.Add(&Reporter{Cache: mgr.GetClient(), Condition: condition, Clock: clock.RealClock{}})
}

// Start implements manager.Runnable.
func (r *Reporter) Start(ctx context.Context) error {
	wait.UntilWithContext(ctx, r.Report, period)
	return nil
}

// Report writes the condition if it has changed, and logs a repeated error only once. It does not log conflicts: they are normal,
// because OLM also writes the OperatorCondition.
func (r *Reporter) Report(ctx context.Context) {
	err := r.report(ctx)
	if err == nil {
		r.failure = ""
	} else if !apierrors.IsConflict(err) && ctx.Err() == nil && err.Error() != r.failure {
		r.failure = err.Error()
		logf.FromContext(ctx).Info("OLM does not learn whether it may upgrade the operator, which keeps trying", "error", r.failure)
	}
}

func (r *Reporter) report(ctx context.Context) error {
	now := r.Clock.Now()
	rolling := &cachev1alpha1.MemcachedList{}
	if err := r.Cache.List(ctx, rolling, client.MatchingFields{rollingOut: "true"}, client.UnsafeDisableDeepCopy); err != nil {
		return err
	}
	wanted, reason, message := metav1.ConditionTrue, "NoRollout", "No nodes are being replaced"
	if r.progress(rolling.Items, now) {
		r.lastProgress, wanted, reason = now, metav1.ConditionFalse, cachev1alpha1.ReasonRollingOut
		message = "Nodes are being replaced: kubectl get memcacheds --all-namespaces shows where"
	}
	if r.reported == "" {
		current, err := r.Condition.Get(ctx)
		if apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
			return err
		}
		if current != nil { // nil if the condition is missing, which operator-lib reports as an error without a status reason
			r.reported = current.Status
		}
	}
	if r.reported == wanted || r.reported != "" && now.Sub(r.lastProgress) < quietPeriod && wanted == metav1.ConditionTrue {
		return nil
	}
	r.reported = "" // a write that returns an error may still have taken effect
	if err := r.Condition.Set(ctx, wanted, conditions.WithReason(reason), conditions.WithMessage(message)); err != nil {
		return err
	}
	r.reported = wanted
	logf.FromContext(ctx).Info("Reported to OLM whether it may upgrade the operator", "upgradeable", wanted, "message", message)
	return nil
}

// progress reports whether a Memcached with a rollout has changed within its progress deadline plus grace.
func (r *Reporter) progress(rolling []cachev1alpha1.Memcached, now time.Time) (found bool) {
	seen := map[string]time.Time{}
	for i := range rolling {
		mc := &rolling[i]
		key := string(mc.UID) + mc.ResourceVersion
		since, known := r.seen[key]
		if !known {
			since = now
		}
		seen[key] = since
		found = found || now.Sub(since) <= time.Duration(memcached.ProgressDeadlineSeconds(mc))*time.Second+grace
	}
	r.seen = seen
	return found
}

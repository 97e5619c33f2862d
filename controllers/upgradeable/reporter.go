// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package upgradeable tells OLM v0 whether it may upgrade the operator. It is a controller of its own, which reads the statuses of all
// Memcacheds and writes the condition Upgradeable of the operator's OperatorCondition.
package upgradeable

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/operator-framework/operator-lib/conditions"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached/status"
)

// OperatorConditionVariable is the environment variable in which OLM v0 names the OperatorCondition of the operator. OLM v1
// and other ways to install it have none.
const OperatorConditionVariable = "OPERATOR_CONDITION_NAME"

// What is written to the OperatorCondition holds an upgrade that waits for it back until OLM has seen it. So the number of writes
// does not depend on the number of rollouts.
const (
	// eventDelay is how long after an event of a rollout the reporter reconciles: a thousand of them are one reconcile.
	eventDelay = 500 * time.Millisecond
	// quietPeriod is how long no rollout must have progressed before OLM may upgrade the operator: the next one may be about to
	// begin.
	quietPeriod = 30 * time.Second
	// messageRefresh is for how long the names of the rollouts stay those that OLM was given.
	messageRefresh = time.Minute
	// startupTimeout is how long the first answer waits for the Memcacheds that changed while no operator ran.
	startupTimeout = time.Minute
)

// Reporter reports to OLM v0, with the condition Upgradeable of the OperatorCondition, whether it may upgrade the operator. What it
// reports follows from the statuses; when it reports is decided here.
type Reporter struct {
	cache     client.Reader
	condition conditions.Condition
	clock     clock.PassiveClock
	backoff   workqueue.TypedRateLimiter[reconcile.Request]

	// started is when it reconciled first, and settled says that it has seen enough to answer.
	started time.Time
	settled bool
	// rollouts are those of the last reconcile, and lastProgress is when one of them last progressed.
	rollouts     map[types.NamespacedName]rollout
	lastProgress time.Time
	// reported is what the OperatorCondition holds, nil if that is not known; writtenAt is when it was written.
	reported  *metav1.Condition
	writtenAt time.Time
	// logged are the kinds of errors that were logged since OLM last got a report.
	logged sets.Set[string]
}

// rollout is a status, and since when it has been the same.
type rollout struct {
	status cachev1alpha1.MemcachedStatus
	since  time.Time
}

// NewReporter returns a Reporter that reads Memcached resources from a cache.
func NewReporter(reader client.Reader, condition conditions.Condition, clock clock.PassiveClock) *Reporter {
	return &Reporter{
		cache:     reader,
		condition: condition,
		clock:     clock,
		backoff:   newBackoff(),
		logged:    sets.New[string](),
	}
}

// Reconcile reads all Memcached resources and reports to OLM what follows, if that is news and if it is time. An error is logged
// and retried; no other controller notices.
func (u *Reporter) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	all := &cachev1alpha1.MemcachedList{}
	if err := u.cache.List(ctx, all, client.UnsafeDisableDeepCopy); err != nil {
		return reconcile.Result{}, fmt.Errorf("list the Memcached resources: %w", err)
	}
	now := u.clock.Now()
	wanted := u.observe(all.Items, now)
	if wait := u.wait(wanted, now); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	if err := u.report(ctx, wanted, now); err != nil {
		u.logOnce(ctx, err)
		return reconcile.Result{RequeueAfter: u.backoff.When(request)}, nil
	}
	u.backoff.Forget(request)
	if wanted.Status == metav1.ConditionFalse {
		return reconcile.Result{RequeueAfter: messageRefresh}, nil // nothing else wakes it if a rollout never changes again
	}
	return reconcile.Result{}, nil
}

// observe computes what OLM should know, and remembers what the next look is compared with.
func (u *Reporter) observe(all []cachev1alpha1.Memcached, now time.Time) metav1.Condition {
	if u.started.IsZero() {
		u.started = now
	}
	current := map[types.NamespacedName]rollout{}
	var rollouts []status.Rollout
	unseen := false
	for i := range all {
		mc := &all[i]
		unseen = unseen || mc.Status.ObservedGeneration != mc.Generation
		if !status.RollingOut(mc) {
			continue
		}
		name := client.ObjectKeyFromObject(mc)
		seen, known := u.rollouts[name]
		if !known || !equality.Semantic.DeepEqual(seen.status, mc.Status) {
			seen = rollout{status: mc.Status, since: now}
		}
		current[name] = seen
		rollouts = append(rollouts, status.Rollout{Memcached: mc, Unchanged: now.Sub(seen.since)})
	}
	u.rollouts = current
	wanted := status.Upgradeable(rollouts)
	if wanted.Status == metav1.ConditionFalse {
		u.lastProgress = now
	}
	u.settled = u.settled || !unseen || now.Sub(u.started) >= startupTimeout
	return wanted
}

// wait is for how long a report is better not written yet.
func (u *Reporter) wait(wanted metav1.Condition, now time.Time) time.Duration {
	may := wanted.Status == metav1.ConditionTrue
	switch {
	case may && !u.settled:
		return eventDelay
	case u.reported != nil && u.reported.Status == wanted.Status:
		if same(*u.reported, wanted) {
			return 0
		}
		return u.writtenAt.Add(messageRefresh).Sub(now)
	case may:
		return u.lastProgress.Add(quietPeriod).Sub(now)
	default:
		return 0
	}
}

// report writes the condition, unless the OperatorCondition holds it.
func (u *Reporter) report(ctx context.Context, wanted metav1.Condition, now time.Time) error {
	if u.reported == nil {
		current, err := u.condition.Get(ctx)
		if apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
			return err
		}
		u.reported = current // nil if there is none, for which operator-lib has no error that could be recognized
	}
	if u.reported == nil || !same(*u.reported, wanted) {
		u.reported = nil // an answer may get lost
		err := u.condition.Set(ctx, wanted.Status, conditions.WithReason(wanted.Reason), conditions.WithMessage(wanted.Message))
		if err != nil {
			return err
		}
		u.reported, u.writtenAt = &wanted, now
		logf.FromContext(ctx).Info("Reported to OLM whether it may upgrade the operator", "upgradeable", wanted.Status,
			"message", wanted.Message)
	} else if len(u.logged) > 0 {
		logf.FromContext(ctx).Info("OLM knows again whether it may upgrade the operator", "upgradeable", wanted.Status)
	}
	clear(u.logged)
	return nil
}

func same(a, b metav1.Condition) bool {
	return a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message
}

// logOnce logs each kind of error once, until OLM gets a report again. Conflicts, which come from OLM's own writes, and the end of
// the process are not logged.
func (u *Reporter) logOnce(ctx context.Context, err error) {
	var why string
	switch {
	case apierrors.IsConflict(err), errors.Is(err, context.Canceled):
		return
	case apierrors.IsForbidden(err):
		why = "OLM has not granted get and update of the OperatorCondition, for which it makes a Role of the same name"
	case apierrors.IsNotFound(err):
		why = "the OperatorCondition that " + OperatorConditionVariable + " names, and which OLM makes, does not exist"
	case meta.IsNoMatchError(err):
		why = "the cluster has no OperatorCondition resources: install OLM v0, or unset " + OperatorConditionVariable
	default:
		why = "the OperatorCondition cannot be read or written"
	}
	if !u.logged.Has(why) {
		u.logged.Insert(why)
		logf.FromContext(ctx).Info("OLM does not learn whether it may upgrade the operator, which keeps trying: "+why,
			"error", err.Error())
	}
}

// newBackoff makes a report that OLM waits for at most a minute late.
func newBackoff() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](5*time.Millisecond, 45*time.Second)
}

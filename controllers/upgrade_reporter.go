// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers

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
	"github.com/example/memcached-operator/internal/memcached"
)

// How often OLM is told, whatever the number of rollouts: what is written to the OperatorCondition holds an upgrade that
// waits for it back until OLM has seen it.
const (
	// calm is how long no rollout must have progressed before OLM may upgrade the operator: the next one may be about to
	// begin.
	calm = 30 * time.Second
	// refresh is for how long the names of the rollouts stay what OLM was told.
	refresh = time.Minute
	// patience is how long the first answer waits for the Memcached resources that changed while no operator looked.
	patience = time.Minute
)

// UpgradeReporter tells OLM v0, with the condition Upgradeable of the OperatorCondition, whether it may upgrade the
// operator. What OLM is told follows from the statuses; when it is told is decided here.
type UpgradeReporter struct {
	cache     client.Reader
	condition conditions.Condition
	clock     clock.PassiveClock
	backoff   workqueue.TypedRateLimiter[reconcile.Request]

	// started is when it looked first, and settled says that it has seen enough to answer.
	started time.Time
	settled bool
	// rollouts are those that were there at the last look, and busy is when one of them last progressed.
	rollouts map[types.NamespacedName]rollout
	busy     time.Time
	// told is what the OperatorCondition holds, nil if that is not known; written is when it was written.
	told    *metav1.Condition
	written time.Time
	// complaints are those that were logged since OLM was last told something.
	complaints sets.Set[string]
}

// rollout is a status, and since when it has been the same.
type rollout struct {
	status cachev1alpha1.MemcachedStatus
	since  time.Time
}

// NewUpgradeReporter returns an UpgradeReporter that reads Memcached resources from a cache.
func NewUpgradeReporter(reader client.Reader, condition conditions.Condition, clock clock.PassiveClock) *UpgradeReporter {
	return &UpgradeReporter{
		cache:      reader,
		condition:  condition,
		clock:      clock,
		backoff:    rateLimiter(),
		complaints: sets.New[string](),
	}
}

// Reconcile looks at all Memcached resources and tells OLM what follows, if that is news and if it is time. What keeps it
// from that is logged and tried again; no other controller notices.
func (u *UpgradeReporter) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	all := &cachev1alpha1.MemcachedList{}
	if err := u.cache.List(ctx, all, client.UnsafeDisableDeepCopy); err != nil {
		return reconcile.Result{}, fmt.Errorf("list the Memcached resources: %w", err)
	}
	now := u.clock.Now()
	wanted := u.observe(all.Items, now)
	if wait := u.wait(wanted, now); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	if err := u.tell(ctx, wanted, now); err != nil {
		u.complain(ctx, err)
		return reconcile.Result{RequeueAfter: u.backoff.When(request)}, nil
	}
	u.backoff.Forget(request)
	if wanted.Status == metav1.ConditionFalse {
		return reconcile.Result{RequeueAfter: refresh}, nil // nothing else wakes it if a rollout never changes again
	}
	return reconcile.Result{}, nil
}

// observe computes what OLM should know, and remembers what the next look is compared with.
func (u *UpgradeReporter) observe(all []cachev1alpha1.Memcached, now time.Time) metav1.Condition {
	if u.started.IsZero() {
		u.started = now
	}
	current := map[types.NamespacedName]rollout{}
	var rollouts []memcached.Rollout
	unseen := false
	for i := range all {
		mc := &all[i]
		unseen = unseen || mc.Status.ObservedGeneration != mc.Generation
		if !memcached.RollingOut(mc) {
			continue
		}
		name := client.ObjectKeyFromObject(mc)
		seen, known := u.rollouts[name]
		if !known || !equality.Semantic.DeepEqual(seen.status, mc.Status) {
			seen = rollout{status: mc.Status, since: now}
		}
		current[name] = seen
		rollouts = append(rollouts, memcached.Rollout{Memcached: mc, Unchanged: now.Sub(seen.since)})
	}
	u.rollouts = current
	wanted := memcached.Upgradeable(rollouts)
	if wanted.Status == metav1.ConditionFalse {
		u.busy = now
	}
	u.settled = u.settled || !unseen || now.Sub(u.started) >= patience
	return wanted
}

// wait is for how long OLM is better not told yet.
func (u *UpgradeReporter) wait(wanted metav1.Condition, now time.Time) time.Duration {
	may := wanted.Status == metav1.ConditionTrue
	switch {
	case may && !u.settled:
		return debounce
	case u.told != nil && u.told.Status == wanted.Status:
		if same(*u.told, wanted) {
			return 0
		}
		return u.written.Add(refresh).Sub(now)
	case may:
		return u.busy.Add(calm).Sub(now)
	default:
		return 0
	}
}

// tell writes the condition, unless the OperatorCondition holds it.
func (u *UpgradeReporter) tell(ctx context.Context, wanted metav1.Condition, now time.Time) error {
	if u.told == nil {
		current, err := u.condition.Get(ctx)
		if apierrors.ReasonForError(err) != metav1.StatusReasonUnknown {
			return err
		}
		u.told = current // nil if OLM was told nothing, for which operator-lib has no error that could be recognized
	}
	if u.told == nil || !same(*u.told, wanted) {
		u.told = nil // an answer may get lost
		err := u.condition.Set(ctx, wanted.Status, conditions.WithReason(wanted.Reason), conditions.WithMessage(wanted.Message))
		if err != nil {
			return err
		}
		u.told, u.written = &wanted, now
		logf.FromContext(ctx).Info("Told OLM whether it may upgrade the operator", "upgradeable", wanted.Status,
			"message", wanted.Message)
	} else if len(u.complaints) > 0 {
		logf.FromContext(ctx).Info("OLM knows again whether it may upgrade the operator", "upgradeable", wanted.Status)
	}
	clear(u.complaints)
	return nil
}

func same(a, b metav1.Condition) bool {
	return a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message
}

// complain logs each kind of error once, until OLM was told again. A conflict, since OLM writes too, and the end of the
// process are none.
func (u *UpgradeReporter) complain(ctx context.Context, err error) {
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
	if !u.complaints.Has(why) {
		u.complaints.Insert(why)
		logf.FromContext(ctx).Info("OLM is not told whether it may upgrade the operator, which goes on trying: "+why,
			"error", err.Error())
	}
}

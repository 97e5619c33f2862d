// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package await_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/example/memcached-operator/test/await"
)

func pod(name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
}

// exists returns a check for a pod. Each call of the check sends a signal to the channel checks, unless a signal is pending.
func exists(c client.Client, name string, checks chan<- struct{}) await.Check {
	return func(ctx context.Context) (string, error) {
		select {
		case checks <- struct{}{}:
		default:
		}
		return "", c.Get(ctx, client.ObjectKeyFromObject(pod(name)), &corev1.Pod{})
	}
}

var kinds = []client.ObjectList{&corev1.PodList{}}

func TestUntilChecksAtOnce(t *testing.T) {
	c := fake.NewClientBuilder().WithObjects(pod("a")).Build()
	if err := await.Until(t.Context(), c, exists(c, "a", nil), kinds); err != nil {
		t.Error(err)
	}
}

func TestUntilChecksAfterChanges(t *testing.T) {
	c := fake.NewClientBuilder().Build()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	checks := make(chan struct{}, 1)
	go func() {
		<-checks
		_ = c.Create(ctx, pod("a")) // if this fails, Until times out
	}()
	if err := await.Until(ctx, c, exists(c, "a", checks), kinds); err != nil {
		t.Error(err)
	}
}

func TestUntilReportsCauseAndWhatIsMissing(t *testing.T) {
	c := fake.NewClientBuilder().Build()
	cause := errors.New("the operator ended")
	ctx, cancel := context.WithCancelCause(t.Context())
	checks := make(chan struct{}, 1)
	go func() {
		<-checks
		cancel(cause)
	}()
	err := await.Until(ctx, c, func(context.Context) (string, error) {
		select {
		case checks <- struct{}{}:
		default:
		}
		return "2 of 3 nodes are ready", nil
	}, kinds)
	if !errors.Is(err, cause) || err.Error() != "2 of 3 nodes are ready: the operator ended" {
		t.Errorf("got %v", err)
	}
}

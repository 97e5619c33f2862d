// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package suite starts an API server for a Ginkgo suite.
package suite

import (
	"context"
	"time"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/example/memcached-operator/test/testenv"
)

// Start starts an API server, which stops at the end of the Ginkgo suite. It returns a configuration for the operator's client, and a
// client that acts as a user.
func Start() (*rest.Config, client.Client) {
	gomega.SetDefaultEventuallyTimeout(time.Minute)
	gomega.EnforceDefaultTimeoutsWhenUsingContexts()
	ctrl.SetLogger(ginkgo.GinkgoLogr)
	environment := testenv.New()
	config, err := environment.Start()
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	ginkgo.DeferCleanup(environment.Stop)
	config.QPS = -1
	user, err := client.New(config, client.Options{Scheme: environment.Scheme})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return config, user
}

// NewNamespace creates a namespace for one spec and returns its name.
func NewNamespace(ctx context.Context, user client.Client) string {
	ginkgo.GinkgoHelper()
	// With generateName, older API servers can generate the same name twice.
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "test-" + rand.String(8)}}
	gomega.Expect(user.Create(ctx, namespace)).To(gomega.Succeed())
	return namespace.Name
}

// Events returns the events that were recorded since the last call.
func Events(recorder *events.FakeRecorder) (recorded []string) {
	for len(recorder.Events) > 0 {
		recorded = append(recorded, <-recorder.Events)
	}
	return recorded
}

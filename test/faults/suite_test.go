// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

// Package faults tests that the operator reaches the desired state despite failures, and changes nothing else.
//
// The sweep (sweep_test.go) runs each scenario, a sequence of user actions, first without a fault. Then it repeats the scenario once
// for each way in which a write or a watch of the operator can fail. Each repetition is a plan. The proxy (proxy_test.go), an HTTP
// proxy in front of the API server, injects the fault. Oracles check what the API server recorded. cluster_test.go simulates the
// workload controllers, the garbage collector and the kubelet.
//
// In this package, "proxy" is that HTTP proxy. "front" is the name of the MemcachedProxy, "cache" of the Memcached, and "twin" of a
// second Memcached with the same items (spec.fillFrom).
//
// TestHistories changes Memcacheds at random while the operator is killed. FAULTS_LOG=1 shows the operator's log.
package faults

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/example/memcached-operator/test/testenv"
)

var (
	config *rest.Config
	// user is the client of the tests. It bypasses the proxy.
	user client.WithWatch
	// history records all changes of the objects that the operator watches.
	history *journal
)

func TestMain(m *testing.M) {
	code, err := runSuite(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		code = 1
	}
	os.Exit(code)
}

func runSuite(m *testing.M) (code int, err error) {
	logger := logr.Discard() // hundreds of injected failures would fill the log
	if os.Getenv("FAULTS_LOG") != "" {
		logger = zap.New()
	}
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	environment := testenv.New()
	config, err = environment.Start()
	if err != nil {
		return 1, fmt.Errorf("start the API server: %w", err)
	}
	defer func() {
		if stopErr := environment.Stop(); stopErr != nil && err == nil {
			err = fmt.Errorf("stop the API server: %w", stopErr)
		}
	}()
	config.QPS = -1
	user, err = client.NewWithWatch(config, client.Options{Scheme: testenv.Scheme()})
	if err != nil {
		return 1, fmt.Errorf("create the client of the user: %w", err)
	}
	room := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1k"), corev1.ResourceMemory: resource.MustParse("1Ti")}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}, Status: corev1.NodeStatus{Allocatable: room, Capacity: room}}
	if err = user.Create(context.Background(), node); err != nil { // pods can be resized only if their node has room
		return 1, fmt.Errorf("create the cluster node: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	history = newJournal()
	if err := history.follow(ctx, user); err != nil {
		return 1, err
	}
	stopped, err := startCluster(ctx)
	if err != nil {
		return 1, err
	}
	code = m.Run()
	cancel()
	return code, <-stopped
}

// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

// Package faults tests that the operator reaches the desired state despite any failure, and does nothing else.
//
// A proxy (proxy_test.go) stands between the operator and the API server. A scenario (scenarios_test.go and the other *_scenarios_test.go)
// is a sequence of user actions. A reference run without faults records the writes of the operator, and the resources whose watches deliver
// events. From these records the sweep (sweep_test.go) derives its plans: one for each way in which a write can fail, and one for each way
// in which a watch can mislead the operator. Each plan runs the scenario again with its fault. Oracles then verify what the API server
// recorded (verify_test.go, oracles_test.go, status_invariants_test.go, move_invariants_test.go, front_oracles_test.go,
// twins_scenarios_test.go).
//
// The API server runs alone. cluster_test.go simulates the controllers of the workloads, the garbage collector and the kubelet.
//
// The package also tests every field of the spec (fields_test.go, field_paths_test.go), contention with other clients and noisy neighbors
// (contention_test.go), and endurance over many Memcacheds (endurance_test.go). patterns_test.go lists the known ways in which operators
// fail, each with a test and with a mutation that makes the test fail.
//
// make test-faults runs everything in a short form, make test-endurance runs the endurance test for an hour, and make test-mutations checks
// the mutations. FAULTS_LOG=1 shows the operator's log.
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
	// user is the client of everybody except the operator. It bypasses the proxy.
	user client.WithWatch
	// history records all changes in the API server.
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

// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build faults

// Package faults tests that the operator reaches the desired state whatever fails on the way, and does nothing else.
//
// Between the operator and the API server stands a proxy (proxy_test.go). A scenario (scenarios_test.go) is what users do;
// it is played once without a fault, which gives the list of the operator's writes and of the kinds whose watches
// deliver something. The sweep (sweep_test.go) is made from that: one plan for each write and each way in which it can fail,
// and for each watch and each way in which it can mislead. Every plan plays the scenario again, with its fault, and is
// judged by what the API server saw (oracles_test.go).
//
// There is an API server and no node: cluster_test.go plays the Deployment controller, the kubelet and the garbage
// collector.
//
// Beside the sweep stand a campaign over every field of the spec (property_test.go, leaves_test.go), neighbours that take all
// that they can get (neighbours_test.go), the life of many Memcached resources (endurance_test.go), and the list of the
// patterns by which operators are known to fail (patterns_test.go), with the test and the mutation that proves it for each.
//
// make test-faults runs it all in a short form, make test-endurance the churn for an hour, make test-mutations the proofs.
// FAULTS_LOG=1 shows what the operator logs.
package faults

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/go-logr/logr"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"github.com/example/memcached-operator/internal/testenv"
)

var (
	config *rest.Config
	// user is everybody but the operator. It asks the API server without the proxy.
	user client.WithWatch
	// history is what the API server did.
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
	logger := logr.Discard() // what the operator complains of here is hundreds of failures that were made
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

// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"

	"github.com/example/memcached-operator/test/operator"
)

// metricsClient reads metrics as Prometheus does. token is the token of a service account. For an agent, it is empty.
type metricsClient struct {
	url, token string
	http       *http.Client
}

type families map[string]*dto.MetricFamily

func (t *testbed) newMetricsClient(ctx context.Context, url string) (*metricsClient, error) {
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: ptr.To(int64((6 * time.Hour).Seconds())),
	}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: scraper}}
	if err := t.k8s.SubResource("token").Create(ctx, account, token); err != nil {
		return nil, fmt.Errorf("getting a token for the metrics: %w", err)
	}
	return &metricsClient{url: url, token: token.Status.Token, http: &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // it signs its own certificate
	}}}, nil
}

func (m *metricsClient) read(ctx context.Context) (families, error) {
	text, err := m.fetch(ctx)
	if err != nil {
		return nil, err
	}
	return parseFamilies(bytes.NewReader(text))
}

func (m *metricsClient) fetch(ctx context.Context) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, m.url, http.NoBody)
	if err != nil {
		return nil, err
	}
	if m.token != "" {
		request.Header.Set("Authorization", "Bearer "+m.token)
	}
	response, err := m.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("reading %s: %s", m.url, response.Status)
	}
	return io.ReadAll(response.Body)
}

func parseFamilies(text io.Reader) (families, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	return parser.TextToMetricFamilies(text)
}

// sum adds up the counters of a metric family. Only those with all of these labels count. labels are alternating names and values.
func (f families) sum(name string, labels ...string) float64 {
	total := 0.0
	for _, one := range f[name].GetMetric() {
		if hasLabels(one, labels) {
			total += one.GetCounter().GetValue()
		}
	}
	return total
}

func hasLabels(one *dto.Metric, labels []string) bool {
	for label := range slices.Chunk(labels, 2) {
		if !slices.ContainsFunc(one.GetLabel(), func(pair *dto.LabelPair) bool {
			return pair.GetName() == label[0] && pair.GetValue() == label[1]
		}) {
			return false
		}
	}
	return true
}

// sentWrites returns how many patches and deletions the operator has sent, according to its own metrics.
func (f families) sentWrites() float64 {
	const requests = "rest_client_requests_total"
	return f.sum(requests, "method", http.MethodPatch) + f.sum(requests, "method", http.MethodDelete)
}

func (f families) reconciles() float64 {
	return f.sum("controller_runtime_reconcile_total", "controller", "memcached")
}

// awaitReconciles waits until the operator has finished at least n reconciliations since its start.
func (o *replica) awaitReconciles(ctx context.Context, n int) {
	done := func(ctx context.Context) (bool, error) {
		f, err := o.metrics.read(ctx)
		return err == nil && f.reconciles() >= float64(n), nil // the metrics server may start after the operator is ready
	}
	if err := wait.PollUntilContextTimeout(ctx, time.Second, startDeadline, true, done); err != nil {
		check(fmt.Errorf("waiting for %s to finish %d reconciliations: %w", o.user, n, err))
	}
}

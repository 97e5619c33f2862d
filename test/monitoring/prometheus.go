// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/api"
	prometheusv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

const step = time.Second

// Prometheus is a client of a Prometheus server.
type Prometheus struct{ api prometheusv1.API }

// Connect returns a client of the Prometheus at a URL.
func Connect(url string) (Prometheus, error) {
	client, err := api.NewClient(api.Config{Address: url})
	if err != nil {
		return Prometheus{}, err
	}
	return Prometheus{prometheusv1.NewAPI(client)}, nil
}

// Between returns the values of a query from one time to another, one per step.
func (p Prometheus) Between(ctx context.Context, query string, from, to time.Time) (model.Matrix, error) {
	value, _, _, err := p.api.QueryRange(ctx, query, prometheusv1.Range{Start: from, End: to, Step: step})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	matrix, ok := value.(model.Matrix)
	if !ok {
		return nil, fmt.Errorf("%s: the result is a %s", query, value.Type())
	}
	return matrix, nil
}

// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"time"

	"github.com/prometheus/client_golang/api"
	prometheusv1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// step is the time between two values of a query over a period.
const step = time.Second

// Prometheus is a client of one.
type Prometheus struct{ api prometheusv1.API }

// Connect returns a client of the Prometheus at a URL.
func Connect(url string) (Prometheus, error) {
	client, err := api.NewClient(api.Config{Address: url})
	if err != nil {
		return Prometheus{}, err
	}
	return Prometheus{prometheusv1.NewAPI(client)}, nil
}

// Between returns the results of a query in a period.
func (p Prometheus) Between(ctx context.Context, query string, from, to time.Time) (model.Matrix, error) {
	value, _, err := p.api.QueryRange(ctx, query, prometheusv1.Range{Start: from, End: to, Step: step})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	matrix, ok := value.(model.Matrix)
	if !ok {
		return nil, fmt.Errorf("%s: the result is a %s", query, value.Type())
	}
	return matrix, nil
}

// Drawing is a dashboard with the data that it shows.
type Drawing struct {
	Title  string       `json:"title"`
	Panels []DrawnPanel `json:"panels"`
}

// DrawnPanel is a panel as in the dashboard, with its data.
type DrawnPanel struct {
	Panel  json.RawMessage `json:"panel"`
	Series []Series        `json:"series"`
}

// Series is a result of a query of a panel.
type Series struct {
	Legend string            `json:"legend"`
	Labels map[string]string `json:"labels"`
	// Points are seconds since the beginning, and values.
	Points [][2]float64 `json:"points"`
}

// Draw returns what a dashboard shows at the end of a period.
func (p Prometheus) Draw(ctx context.Context, dashboard Dashboard, from, to time.Time) (Drawing, error) {
	drawing := Drawing{Title: dashboard.Title}
	for _, panel := range dashboard.Panels {
		drawn := DrawnPanel{Panel: panel.JSON}
		for _, query := range panel.Targets {
			begin := from
			if query.Instant {
				begin = to
			}
			matrix, err := p.Between(ctx, query.Expr, begin, to)
			if err != nil {
				return Drawing{}, fmt.Errorf("panel %s: %w", panel.Title, err)
			}
			for _, stream := range matrix {
				drawn.Series = append(drawn.Series, seriesOf(query, stream, from))
			}
		}
		drawing.Panels = append(drawing.Panels, drawn)
	}
	return drawing, nil
}

func seriesOf(query Query, stream *model.SampleStream, from time.Time) Series {
	series := Series{Legend: legend(query.LegendFormat, stream.Metric), Labels: map[string]string{}}
	for name, value := range stream.Metric {
		series.Labels[string(name)] = string(value)
	}
	for _, pair := range stream.Values {
		if value := float64(pair.Value); !math.IsNaN(value) && !math.IsInf(value, 0) {
			series.Points = append(series.Points, [2]float64{pair.Timestamp.Time().Sub(from).Seconds(), value})
		}
	}
	return series
}

// placeholder matches the name of a label in the legend of a query.
var placeholder = regexp.MustCompile(`\{\{ *([a-z_]+) *\}\}`)

func legend(format string, labels model.Metric) string {
	return placeholder.ReplaceAllStringFunc(format, func(match string) string {
		return string(labels[model.LabelName(placeholder.FindStringSubmatch(match)[1])])
	})
}

// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/example/memcached-operator/test/clustertest"
)

func scrape(ctx context.Context, agent string) string {
	GinkgoHelper()
	status, body := get(ctx, agent+"/metrics", "")
	Expect(status).To(Equal(http.StatusOK))
	return body
}

func statusOf(ctx context.Context, url string) int {
	GinkgoHelper()
	status, _ := get(ctx, url, "")
	return status
}

// sampleOf returns the value of the series with this name. If the series has labels, they are part of the name.
func sampleOf(scraped, name string) float64 {
	GinkgoHelper()
	for line := range strings.Lines(scraped) {
		if text, found := strings.CutPrefix(line, name+" "); found {
			return clustertest.Must(strconv.ParseFloat(strings.TrimSpace(text), 64))
		}
	}
	Fail("there is no " + name)
	return 0
}

// takeAllConnections opens connections to a node until the node refuses one, and keeps them until the spec ends.
func takeAllConnections(ctx context.Context, address string) {
	GinkgoHelper()
	for full := false; !full; {
		_, reply := connect(ctx, address)
		full = reply == "ERROR Too many open connections"
	}
}

// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
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

// takeAllConnections opens connections to a node until the node refuses one, and keeps them until the spec ends.
func takeAllConnections(ctx context.Context, address string) {
	GinkgoHelper()
	for full := false; !full; {
		_, reply := connect(ctx, address)
		full = reply == "ERROR Too many open connections"
	}
}

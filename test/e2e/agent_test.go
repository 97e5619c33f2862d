// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/example/memcached-operator/test/traffic"
)

func scrape(ctx context.Context, agent string) string {
	GinkgoHelper()
	status, body := get(ctx, agent+"/metrics", "")
	Expect(status).To(Equal(http.StatusOK))
	return body
}

// takeAllConnections opens connections to a node or a proxy until it refuses one, and keeps them until the spec ends.
func takeAllConnections(ctx context.Context, address string) (taken []*traffic.Conn) {
	GinkgoHelper()
	for reply := "MN"; reply == "MN"; {
		var conn *traffic.Conn
		conn, reply = connect(ctx, address)
		taken = append(taken, conn)
	}
	return taken
}

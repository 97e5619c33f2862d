// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// rotate checks that replacing the TLS certificates and the users of n Memcacheds at once causes no request of the operator. Only agents
// read the Secrets.
func (b *bench) rotate(ctx context.Context, t *testbed, n int) {
	o, ready := t.startOperatorFor(ctx, n)
	defer ready.stop()
	check(eachSecret(n, must(issue()), func(secret client.Object) error { return t.k8s.Create(ctx, secret) }))
	_, took := t.createReady(ctx, ready, n, withMutualTLS, withUsers)
	b.logf("%d Memcacheds with TLS and users are ready after %.1f s", n, took.Seconds())
	check(pause(ctx, progressStatusInterval)) // a status write about the creation may be this late
	p := t.beginPhase(ctx, o)
	defer p.versions.stop()
	check(eachSecret(n, must(issue()), func(secret client.Object) error { return t.k8s.Update(ctx, secret) }))
	check(pause(ctx, progressStatusInterval)) // a status write about the rotation may be this late
	name := fmt.Sprintf("certificates and users of %d resources replaced at once", n)
	b.holdNoRequest(b.endPhase(ctx, p, operations, name), name)
	name = fmt.Sprintf("%d resources with TLS and users, from creation on", n)
	b.holdNoSecret(must(t.log.since(0, o.user)), name)
}

// eachSecret calls the function do with each Secret of n Memcacheds. The Secrets contain the certificate and the password in with.
func eachSecret(n int, with issued, do func(client.Object) error) error {
	return inParallel(n, func(i int) error {
		var failures []error
		for _, secret := range secretsOf(memcachedNumber(i), with) {
			failures = append(failures, do(secret))
		}
		return errors.Join(failures...)
	})
}

func secretsOf(mc *cachev1alpha1.Memcached, with issued) []client.Object {
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: mc.Namespace, Name: name} }
	return []client.Object{
		&corev1.Secret{ObjectMeta: named(certificateOf(mc)), Type: corev1.SecretTypeTLS, Data: with.certificate()},
		&corev1.Secret{ObjectMeta: named(usersOf(mc)), Data: map[string][]byte{userName: []byte(with.password)}},
	}
}

// holdNoRequest requires that the operator sends no request, except for its lease, for watches, and to pods: it asks each agent once a
// minute.
func (b *bench) holdNoRequest(requests []request, name string) {
	sent := countIf(requests, func(r request) bool {
		return r.columnOf() != leases && r.columnOf() != watch && r.resource != "pods/proxy"
	})
	b.report.holdCount(operations, "requests: "+name, "requests", sent, 0)
}

// holdNoSecret requires that no request is about Secrets, not even a watch.
func (b *bench) holdNoSecret(requests []request, name string) {
	read := countIf(requests, func(r request) bool { return r.resource == "secrets" })
	b.report.holdCount(operations, "requests for Secrets: "+name, "requests", read, 0)
}

// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// withUsers makes the cache "pages" demand a login. Its Secret has two users. memcached does not accept the password of "old".
func withUsers(t *testing.T, w *world) {
	nameUsers(t, w)
	authenticate(t, w)
	createSecret(t, w, &corev1.Secret{ObjectMeta: metaNamed("pages-users"), Data: map[string][]byte{
		"web": []byte("hunter2"), "old": []byte("hunter1"),
	}})
}

// withBasicAuth puts the user "web" into a Secret of the type kubernetes.io/basic-auth.
func withBasicAuth(t *testing.T, w *world) {
	nameUsers(t, w)
	authenticate(t, w)
	createSecret(t, w, &corev1.Secret{ObjectMeta: metaNamed("pages-users"), Type: corev1.SecretTypeBasicAuth, Data: map[string][]byte{
		"username": []byte("web"), "password": []byte("hunter2"),
	}})
}

// withForbiddenSecret makes the cache "pages" use a Secret that the user of the plugin may not read.
func withForbiddenSecret(t *testing.T, w *world) {
	withUsers(t, w)
	w.forbidden["secrets"] = errors.New(`secrets "pages-users" is forbidden: User "jane" cannot get resource "secrets"`)
}

func nameUsers(t *testing.T, w *world) {
	t.Helper()
	change(t, w, &cachev1alpha1.Memcached{}, "pages", func(mc *cachev1alpha1.Memcached) {
		mc.Spec.Auth = &cachev1alpha1.MemcachedAuth{SecretName: "pages-users"}
	})
}

func createSecret(t *testing.T, w *world, secret *corev1.Secret) {
	t.Helper()
	secret.Namespace = "shop"
	if err := w.client.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
}

// If the Secret cannot be read, the user types the password. It is never shown.
func TestPasswords(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{})
	withForbiddenSecret(t, w)
	for typed, want := range map[string]int{"hunter2": 0, "wrong": 1} {
		w.password = typed
		got := w.run(t, "", "stats", "pages", "--user=web")
		if got.code != want || strings.Contains(got.String(), typed) || !strings.Contains(got.stderr, "Password of web: ") {
			t.Errorf("%s: %s", typed, got)
		}
	}
}

// A memcached that demands no login would store the password as a value.
func TestNoPasswordForAMemcachedWithoutUsers(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{})
	withUsers(t, w)
	for _, server := range w.memcacheds {
		server.authenticates = false
	}
	if got := w.run(t, "", "stats", "pages", "--user=web"); got.code != 0 {
		t.Error(got)
	}
	for name, server := range w.memcacheds {
		if len(server.items) > 0 {
			t.Errorf("%s stores %v", name, server.items)
		}
	}
}

// TestPaceOfFlush flushes one node after the other, with a pause between two nodes.
func TestPaceOfFlush(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{})
	const pace = 50 * time.Millisecond
	if got := w.run(t, "", "flush", "sessions", "--yes", "--pace="+pace.String()); got.code != 0 {
		t.Fatal(got)
	}
	var last time.Time
	for _, name := range []string{"sessions-7d9f-kx2lm", "sessions-7d9f-qq8pv", "sessions-7d9f-zb4td"} {
		flushed := w.memcacheds[name].flushed
		if len(flushed) != 1 || flushed[0].Sub(last) < pace {
			t.Errorf("%s was flushed at %v, %s after the one before", name, flushed, flushed[0].Sub(last))
		}
		last = flushed[0]
	}
}

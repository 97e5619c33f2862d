// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package protocol

import "testing"

func TestTwin(t *testing.T) {
	t.Parallel()
	twin := Twin{Name: "sessions-b", Namespace: "shop", Size: 3}
	if got, err := ParseTwin(twin.String()); err != nil || got != twin {
		t.Errorf("%+v: %v", got, err)
	}
	if got := twin.Host(2); got != "sessions-b-2.sessions-b.shop.svc" {
		t.Error(got)
	}
	for _, text := range []string{
		"", "\n", "sessions-b shop 3", "sessions-b shop\n", "sessions-b shop 3 4\n", "sessions-b shop -3\n", "sessions-b shop 10000\n",
		"evil.example.com shop 3\n", "sessions-b shop.evil 3\n", "-b shop 3\n", "sessions-b shop 3\nx\n", "b\tshop 3\n",
	} {
		if got, err := ParseTwin(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}

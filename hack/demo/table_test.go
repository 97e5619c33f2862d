// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestRenderTable(t *testing.T) {
	table := &metav1.Table{
		ColumnDefinitions: []metav1.TableColumnDefinition{
			{Name: "Name"}, {Name: "Size"}, {Name: "Image", Priority: 1}, {Name: "Age"},
		},
		Rows: []metav1.TableRow{
			{Cells: []any{"memcached-sample", json.Number("1234567"), "memcached:1.6.45", "5s"}},
			{Cells: []any{"b", nil, nil, "<unknown>"}},
		},
	}
	for name, test := range map[string]struct {
		wide bool
		want string
	}{
		"as kubectl get": {want: "" +
			"NAME               SIZE      AGE\n" +
			"memcached-sample   1234567   5s\n" +
			"b                            <unknown>\n"},
		"as kubectl get -o wide": {wide: true, want: "" +
			"NAME               SIZE      IMAGE              AGE\n" +
			"memcached-sample   1234567   memcached:1.6.45   5s\n" +
			"b                                               <unknown>\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, renderTable(table, test.wide)); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got, want := renderTable(&metav1.Table{}, false), "No resources found"; got != want {
		t.Errorf("an empty table: got %q, want %q", got, want)
	}
}

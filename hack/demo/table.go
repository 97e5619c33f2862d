// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"text/tabwriter"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// acceptTable makes the API server render a list as kubectl shows it, printer columns included.
const acceptTable = "application/json;as=Table;v=v1;g=meta.k8s.io"

// resource is what a table lists.
type resource struct {
	// path is the list's path at the API server.
	path string
	// selector restricts it by labels.
	selector string
	// wide adds the columns of kubectl's -o wide.
	wide bool
}

// fetchTable returns the lines that kubectl get would print.
func fetchTable(ctx context.Context, api rest.Interface, what resource) (string, error) {
	request := api.Get().AbsPath(what.path).SetHeader("Accept", acceptTable)
	if what.selector != "" {
		request = request.Param("labelSelector", what.selector)
	}
	raw, err := request.Do(ctx).Raw()
	if err != nil {
		return "", fmt.Errorf("listing %s: %w", what.path, err)
	}
	var table metav1.Table
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber() // large numbers would else be shown with an exponent
	if err := decoder.Decode(&table); err != nil {
		return "", fmt.Errorf("reading the table of %s: %w", what.path, err)
	}
	return renderTable(&table, what.wide), nil
}

// renderTable lays a table out as kubectl does.
func renderTable(table *metav1.Table, wide bool) string {
	if len(table.Rows) == 0 {
		return "No resources found"
	}
	var names []string
	shown := make([]bool, len(table.ColumnDefinitions))
	for i, column := range table.ColumnDefinitions {
		shown[i] = wide || column.Priority == 0
		if shown[i] {
			names = append(names, strings.ToUpper(column.Name))
		}
	}
	lines := [][]string{names}
	for _, row := range table.Rows {
		var cells []string
		for i, cell := range row.Cells {
			if i < len(shown) && shown[i] {
				cells = append(cells, cellText(cell))
			}
		}
		lines = append(lines, cells)
	}
	return align(lines)
}

// cellText is the text of a cell, empty if the object has no value.
func cellText(cell any) string {
	if cell == nil {
		return ""
	}
	return fmt.Sprint(cell)
}

// align writes lines in columns with the gaps of kubectl.
func align(lines [][]string) string {
	var text strings.Builder
	writer := tabwriter.NewWriter(&text, 6, 4, 3, ' ', 0)
	for _, cells := range lines {
		_, _ = fmt.Fprintln(writer, strings.Join(cells, "\t"))
	}
	_ = writer.Flush() // a strings.Builder takes everything
	return text.String()
}

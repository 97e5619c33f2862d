// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// The command monitoring writes the Grafana dashboards of config/components/monitoring.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: monitoring FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "monitoring:", err)
		os.Exit(1)
	}
}

func run(folder string) error {
	for name, dashboard := range map[string]dashboard{"fleet": fleet(), "cache": cache()} {
		var content bytes.Buffer
		encoder := json.NewEncoder(&content)
		encoder.SetEscapeHTML(false) // queries contain many > and &
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(dashboard); err != nil {
			return fmt.Errorf("encode %s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(folder, name+".json"), content.Bytes(), 0o600); err != nil {
			return err
		}
	}
	return nil
}

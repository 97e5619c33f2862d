// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRewrite(t *testing.T) {
	const templates = `
{{define "bytes"}}
	size({{.}})
{{end}}`
	for name, test := range map[string]struct{ crd, want string }{
		"a template is expanded in one line": {
			crd:  "---\nrules:\n- rule: 'self.sum({{template `bytes` `self.a`}}) <= 1'\n",
			want: "---\nrules:\n- rule: self.sum( size(self.a) ) <= 1\n",
		},
		"text without a template stays":    {crd: "---\ntext: 'a  b'\n", want: "---\ntext: a  b\n"},
		"an unknown template is an error":  {crd: "rule: '{{template `lost` `self`}}'"},
		"a template that does not end":     {crd: "rule: '{{template `bytes`'"},
		"something other than YAML is too": {crd: "\t"},
	} {
		t.Run(name, func(t *testing.T) {
			files := []string{filepath.Join(t.TempDir(), "templates"), filepath.Join(t.TempDir(), "crd")}
			for i, text := range []string{templates, test.crd} {
				if err := os.WriteFile(files[i], []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := rewrite(files[0], files[1]); (err == nil) != (test.want != "") {
				t.Fatalf("the error is %v", err)
			}
			if got, err := os.ReadFile(files[1]); err != nil || test.want != "" && string(got) != test.want {
				t.Errorf("got %q, want %q (%v)", got, test.want, err)
			}
		})
	}
}

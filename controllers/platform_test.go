// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"cmp"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/example/memcached-operator/controllers"
)

// TestOmitRunAsUser checks which decision follows from the setting and the HTTP status of the cluster's answer. It also checks whether the
// operator asks the cluster. With status 0, the cluster does not answer.
func TestOmitRunAsUser(t *testing.T) {
	const question = "GET /apis/security.openshift.io"
	for name, test := range map[string]struct {
		setting string
		status  int
		want    bool
		err     string
		asked   bool
	}{
		"OpenShift":                               {status: http.StatusOK, want: true, asked: true},
		"another cluster":                         {status: http.StatusNotFound, asked: true},
		"told that it is":                         {setting: "true", want: true},
		"told that it is not":                     {setting: "false"},
		"what Go takes for true":                  {setting: "1", want: true},
		"a cluster that does not answer":          {err: "find out whether the cluster is OpenShift"},
		"a cluster that forbids to ask":           {status: http.StatusForbidden, asked: true, err: "--omit-run-as-user or OMIT_RUN_AS_USER is true or false"},
		"a cluster that has something else to do": {status: http.StatusServiceUnavailable, asked: true, err: "find out whether the cluster is OpenShift"},
		"a broken cluster":                        {status: http.StatusInternalServerError, asked: true, err: "find out whether the cluster is OpenShift"},
	} {
		t.Run(name, func(t *testing.T) {
			var asked string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked = r.Method + " " + r.URL.Path
				w.WriteHeader(test.status)
			}))
			defer server.Close()
			if test.status == 0 {
				server.Close()
			}
			got, err := controllers.OmitRunAsUser(t.Context(), &rest.Config{Host: server.URL}, cmp.Or(test.setting, "auto"))
			switch {
			case test.err == "" && err != nil, test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
				t.Errorf("got the error %v, want %q", err, test.err)
			case got != test.want:
				t.Errorf("got %t", got)
			case test.asked && asked != question, !test.asked && asked != "":
				t.Errorf("the cluster was asked %q", asked)
			}
		})
	}
}

func TestLacksMatchLabelKeys(t *testing.T) {
	for version, want := range map[string]bool{"v1.30.14": true, "v1.31.0-eks-a1": false, "v1.37.2": false} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"gitVersion": %q}`, version)
		}))
		if got, err := controllers.LacksMatchLabelKeys(&rest.Config{Host: server.URL}); err != nil || got != want {
			t.Errorf("%s: %t, %v", version, got, err)
		}
		server.Close()
	}
}

// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/example/memcached-operator/controllers"
)

// TestOmitRunAsUser checks which decision follows from the flag, the environment variable and the HTTP status of the cluster's answer.
// It also checks whether the operator asks the cluster. With status 0, the cluster does not answer.
func TestOmitRunAsUser(t *testing.T) {
	const question = "GET /apis/security.openshift.io"
	for name, test := range map[string]struct {
		flag, variable string
		status         int
		want           bool
		err            string
		asked          bool
	}{
		"OpenShift":                               {status: http.StatusOK, want: true, asked: true},
		"another cluster":                         {status: http.StatusNotFound, asked: true},
		"auto by the flag":                        {flag: "auto", variable: "true", status: http.StatusNotFound, asked: true},
		"auto by the variable":                    {variable: "auto", status: http.StatusOK, want: true, asked: true},
		"true by the flag":                        {flag: "true", variable: "false", want: true},
		"false by the flag":                       {flag: "false", variable: "true"},
		"true by the variable":                    {variable: "true", want: true},
		"false by the variable":                   {variable: "false"},
		"what Go takes for true":                  {flag: "1", want: true},
		"a cluster that does not answer":          {err: "find out whether the cluster is OpenShift"},
		"a cluster that forbids to ask":           {status: http.StatusForbidden, asked: true, err: "--omit-run-as-user or OMIT_RUN_AS_USER is true or false"},
		"a cluster that has something else to do": {status: http.StatusServiceUnavailable, asked: true, err: "find out whether the cluster is OpenShift"},
		"a broken cluster":                        {status: http.StatusInternalServerError, asked: true, err: "find out whether the cluster is OpenShift"},
		"nonsense in the variable":                {flag: "true", variable: "maybe", err: `OMIT_RUN_AS_USER holds "maybe", but must be auto, true or false`},
		"nonsense in the flag":                    {flag: "maybe", err: "must be auto, true or false"},
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
			got, err := decide(t, test.flag, test.variable, &rest.Config{Host: server.URL})
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

// decide uses the flag and the environment variable as main does.
func decide(t *testing.T, flag, variable string, config *rest.Config) (bool, error) {
	t.Helper()
	var o controllers.OmitRunAsUser
	if flag != "" {
		if err := o.Set(flag); err != nil {
			return false, err
		}
	}
	if err := o.Default(variable); err != nil {
		return false, err
	}
	return o.Decide(t.Context(), config)
}

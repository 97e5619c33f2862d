// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// operatorUser is who the operator is for the API server when it is installed in a namespace.
func operatorUser(namespace string) string {
	return "system:serviceaccount:" + namespace + ":" + operatorDeployment
}

// requestsOf returns the requests that a user has sent since a time, each once, from the audit log of the local cluster.
// Requests of a watch are in it when they begin, all others when they are answered.
func requestsOf(user string, since time.Time) iter.Seq[*auditv1.Event] {
	return func(yield func(*auditv1.Event) bool) {
		files := auditLog()
		defer closeAll(files)
		seen := map[types.UID]bool{}
		for _, file := range files {
			for event := range requestsIn(file, user) {
				if event.RequestReceivedTimestamp.Time.Before(since) || seen[event.AuditID] {
					continue
				}
				seen[event.AuditID] = true
				if !yield(event) {
					return
				}
			}
		}
	}
}

// auditLog opens the files of the audit log. The API server begins a new one when one is large and then renames that, so
// the current one is opened first: it may be among the renamed ones as well, but is never missed.
func auditLog() []*os.File {
	names := []string{filepath.Join(clusterDir, "audit.log")}
	current, err := os.Open(names[0])
	Expect(err).NotTo(HaveOccurred())
	files := []*os.File{current}
	rotated, err := filepath.Glob(filepath.Join(clusterDir, "audit-*.log"))
	Expect(err).NotTo(HaveOccurred())
	for _, name := range rotated {
		file, err := os.Open(name)
		Expect(err).NotTo(HaveOccurred())
		files = append(files, file)
	}
	return files
}

func closeAll(files []*os.File) {
	for _, file := range files {
		_ = file.Close() // it was only read
	}
}

// requestsIn reads a file of the audit log, which has a request in each line, and returns those of a user.
func requestsIn(file io.Reader, user string) iter.Seq[*auditv1.Event] {
	return func(yield func(*auditv1.Event) bool) {
		// Most lines are of others, and parsing them all would take much longer.
		mark := []byte(`"` + user + `"`)
		for lines := bufio.NewReader(file); ; {
			line, err := lines.ReadBytes('\n')
			if errors.Is(err, io.EOF) { // what is left has not been written to its end
				return
			}
			Expect(err).NotTo(HaveOccurred())
			if !bytes.Contains(line, mark) {
				continue
			}
			var event auditv1.Event
			Expect(json.Unmarshal(line, &event)).To(Succeed(), string(line))
			if event.User.Username == user && !yield(&event) {
				return
			}
		}
	}
}

// podOf returns the name of the pod that sent a request.
func podOf(event *auditv1.Event) string {
	return strings.Join(event.User.Extra["authentication.kubernetes.io/pod-name"], "")
}

// denied says whether RBAC refused a request. Quotas, Pod Security and namespaces that are about to go answer 403 too.
func denied(event *auditv1.Event) bool {
	return event.Annotations["authorization.k8s.io/decision"] == "forbid"
}

// verbsOf returns the verbs of RBAC that a request needs.
func verbsOf(event *auditv1.Event) []string {
	switch {
	case event.Verb == "patch" && event.ResponseStatus != nil && event.ResponseStatus.Code == http.StatusCreated:
		return []string{"patch", "create"} // server-side apply creates what is not there
	case event.Verb == "watch" && strings.Contains(event.RequestURI, "sendInitialEvents=true"):
		return []string{"watch", "list"} // a list in the stream of a watch; API servers before 1.34 have to be asked for both
	default:
		return []string{event.Verb}
	}
}

// isWrite says whether a request was to change something.
func isWrite(event *auditv1.Event) bool {
	return !slices.Contains([]string{"get", "list", "watch"}, event.Verb)
}

// resourceOf returns the resource of a request, as RBAC names it, with its API group: apps/deployments, or pods. It is
// empty for URLs such as those of the discovery.
func resourceOf(event *auditv1.Event) string {
	if event.ObjectRef == nil || event.ObjectRef.Resource == "" {
		return ""
	}
	resource := event.ObjectRef.Resource
	if event.ObjectRef.Subresource != "" {
		resource += "/" + event.ObjectRef.Subresource
	}
	return inGroup(event.ObjectRef.APIGroup, resource)
}

func inGroup(group, resource string) string {
	return strings.TrimPrefix(group+"/"+resource, "/")
}

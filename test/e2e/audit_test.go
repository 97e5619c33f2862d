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
	"os"
	"path/filepath"
	"slices"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/example/memcached-operator/test/clustertest"
)

func operatorUser(namespace string) string {
	return "system:serviceaccount:" + namespace + ":" + operatorDeployment
}

func closeAll(files []*os.File) {
	for _, file := range files {
		_ = file.Close()
	}
}

// requestsOf returns the requests that a user has sent since a time, from the audit log of the local cluster. The log records a watch
// when it begins, and any other request when the API server answers it.
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

// auditLog opens the files of the audit log. The API server renames a large file and begins a new one. auditLog opens the current file
// first. If the API server then renames this file, auditLog opens it twice, but never misses it.
func auditLog() []*os.File {
	files := []*os.File{clustertest.Must(os.Open(filepath.Join(clusterDir, "audit.log")))}
	for _, rotated := range clustertest.Must(filepath.Glob(filepath.Join(clusterDir, "audit-*.log"))) {
		files = append(files, clustertest.Must(os.Open(rotated)))
	}
	return files
}

// requestsIn returns the requests of a user from a file of the audit log, which has one request per line.
func requestsIn(file io.Reader, user string) iter.Seq[*auditv1.Event] {
	return func(yield func(*auditv1.Event) bool) {
		// Most lines are about other users. Parsing them would take much longer.
		mark := []byte(`"` + user + `"`)
		for lines := bufio.NewReader(file); ; {
			line, err := lines.ReadBytes('\n')
			if errors.Is(err, io.EOF) { // the last line may be incomplete
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

func isWrite(event *auditv1.Event) bool {
	return !slices.Contains([]string{"get", "list", "watch"}, event.Verb)
}

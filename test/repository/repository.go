// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package repository finds and reads the files of this repository.
package repository

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
)

// Path returns the absolute path of a file or folder in the repository. The root of the repository is the nearest folder with a
// go.mod, from the working directory upwards.
func Path(elements ...string) string {
	dir, err := os.Getwd()
	if err != nil {
		panic(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(append([]string{dir}, elements...)...)
		}
		if dir == filepath.Dir(dir) {
			panic("there is no go.mod above the working directory")
		}
		dir = filepath.Dir(dir)
	}
}

// Read returns the content of a file in the repository.
func Read(t *testing.T, elements ...string) string {
	t.Helper()
	return ReadFile(t, Path(elements...))
}

// ReadFile returns the content of any file.
func ReadFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// Variable returns the default value of a variable in the Makefile.
func Variable(t *testing.T, name string) string {
	t.Helper()
	match := regexp.MustCompile(`(?m)^` + name + ` \?=(?: (.*))?$`).FindStringSubmatch(Read(t, "Makefile"))
	if match == nil {
		t.Fatalf("the Makefile does not define %s", name)
	}
	return match[1]
}

// NewestKubernetes returns the newest supported minor version of Kubernetes, such as 37. It is the minor version of k8s.io/api in
// go.mod.
func NewestKubernetes(t *testing.T) int {
	t.Helper()
	match := regexp.MustCompile(`(?m)^\tk8s\.io/api v0\.(\d+)\.`).FindStringSubmatch(Read(t, "go.mod"))
	if match == nil {
		t.Fatal("go.mod does not require k8s.io/api")
	}
	minor, err := strconv.Atoi(match[1])
	if err != nil {
		t.Fatal(err)
	}
	return minor
}

// Reasons returns the reasons that the conditions of a Memcached can have.
func Reasons(t *testing.T) []string {
	t.Helper()
	var reasons []string
	source := Read(t, "api", "v1alpha1", "memcached_conditions.go")
	for _, match := range regexp.MustCompile(`(?m)^\tReason\w+ += "(\w+)"$`).FindAllStringSubmatch(source, -1) {
		reasons = append(reasons, match[1])
	}
	if len(reasons) < 20 {
		t.Fatalf("the API has only %d reasons", len(reasons))
	}
	return reasons
}

// TheOnly returns the element of a slice with one element, and fails the test if the slice has another length. The argument
// what names the elements in the message.
func TheOnly[T any](t *testing.T, elements []T, what string) T {
	t.Helper()
	if len(elements) != 1 {
		t.Fatalf("there are %d %s, want 1", len(elements), what)
	}
	return elements[0]
}

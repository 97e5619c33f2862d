// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// The command licenses copies the licenses and notices of all code in a binary: those of each linked module, and the license of Go. They
// must accompany the binary, so the operator's image has them in /licenses.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// license matches the names of files that must accompany a binary.
var license = regexp.MustCompile(`(?i)^(licen[cs]e|notice|copying|patents)([.-].*)?$`)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: licenses PACKAGE FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "licenses:", err)
		os.Exit(1)
	}
}

func run(pkg, folder string) error {
	modules, err := linked(pkg)
	if err != nil {
		return err
	}
	for path, dir := range modules {
		if err := mustCopyLicenses(dir, filepath.Join(folder, filepath.FromSlash(path))); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return copyGoLicense(filepath.Join(folder, "go"))
}

// copyGoLicense copies the license of Go. A missing license is no error, because Linux distributions may store the license in
// another folder.
func copyGoLicense(folder string) error {
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	_, err = copyLicenses(strings.TrimSpace(string(root)), folder)
	return err
}

// mustCopyLicenses copies the licenses in a folder, but not those in its subfolders. It fails if there is none.
func mustCopyLicenses(from, to string) error {
	copied, err := copyLicenses(from, to)
	if err == nil && copied == 0 {
		err = errors.New("no license was found in " + from)
	}
	return err
}

// linked returns the modules whose code a package contains. It maps the path of each module to the module's folder.
func linked(pkg string) (map[string]string, error) {
	const format = "{{with .Module}}{{.Path}} {{.Dir}}{{end}}"
	output, err := exec.Command("go", "list", "-deps", "-f", format, pkg).Output() //nolint:gosec // the caller's package
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	modules := map[string]string{}
	for line := range strings.Lines(string(output)) {
		if path, dir, found := strings.Cut(strings.TrimSpace(line), " "); found {
			modules[path] = dir
		}
	}
	return modules, nil
}

// copyLicenses copies the licenses in a folder, but not those in its subfolders. It returns their number.
func copyLicenses(from, to string) (int, error) {
	copied := 0
	entries, err := os.ReadDir(from)
	if err != nil {
		return 0, err
	}
	for _, entry := range entries {
		if entry.IsDir() || !license.MatchString(entry.Name()) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(from, entry.Name()))
		if err != nil {
			return copied, err
		}
		if err := os.MkdirAll(to, 0o755); err != nil { //nolint:gosec // public content
			return copied, err
		}
		if err := os.WriteFile(filepath.Join(to, entry.Name()), content, 0o644); err != nil { //nolint:gosec // public content
			return copied, err
		}
		copied++
	}
	return copied, nil
}

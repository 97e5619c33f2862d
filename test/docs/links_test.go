// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/docs"
	"github.com/example/memcached-operator/test/repository"
)

// root is the path of the repository: Go runs tests in the folder of their package.
const root = "../.."

// pages returns every page of the repository by its path.
func pages(t *testing.T) map[string]docs.Page {
	t.Helper()
	all, err := docs.Pages(root)
	if err != nil {
		t.Fatal(err)
	}
	byPath := map[string]docs.Page{}
	for _, page := range all {
		byPath[page.Path] = page
	}
	if len(byPath["README.md"].Links) == 0 {
		t.Fatal("the README has no links")
	}
	return byPath
}

// A link within the repository must lead to a file and, if it has an anchor, to a heading in the file. The test does not follow links
// to other sites.
func TestLinksLeadSomewhere(t *testing.T) {
	all := pages(t)
	for _, page := range all {
		for _, link := range page.Links {
			if strings.Contains(link, "://") {
				continue
			}
			file, anchor, hasAnchor := strings.Cut(link, "#")
			target := page.Path
			if file != "" {
				target = path.Join(path.Dir(page.Path), file)
			}
			if _, err := os.Stat(filepath.Join(root, target)); err != nil {
				t.Errorf("%s links to %s: %v", page.Path, link, err)
			} else if hasAnchor && !slices.Contains(all[target].Anchors, anchor) {
				t.Errorf("%s links to %s, but the headings of %s are %q", page.Path, link, target, all[target].Anchors)
			}
		}
	}
}

// codePaths matches a path in this repository that follows a backtick. Arguments may follow the path.
var codePaths = regexp.MustCompile("`((?:api|cmd|config|controllers|hack|internal|test)/[^`\\s]*)")

// Files and folders that pages name must exist. The pages about clients are left out, because they name files of applications.
func TestPathsExist(t *testing.T) {
	for name := range pages(t) {
		if strings.HasPrefix(name, "docs/clients") {
			continue
		}
		for _, match := range codePaths.FindAllStringSubmatch(repository.Read(t, name), -1) {
			pattern := filepath.Join(root, strings.TrimSuffix(match[1], "..."))
			if found, err := filepath.Glob(pattern); err != nil || len(found) == 0 {
				t.Errorf("%s names %s, which does not exist", name, match[1])
			}
		}
	}
}

// A reader who starts at the README must reach every page, except the design decisions.
func TestEveryPageIsReached(t *testing.T) {
	all := pages(t)
	reached := map[string]bool{}
	next := []string{"README.md"}
	for len(next) > 0 {
		page := next[0]
		next = next[1:]
		if reached[page] {
			continue
		}
		reached[page] = true
		for _, link := range all[page].Links {
			file, _, _ := strings.Cut(link, "#")
			if target := path.Join(path.Dir(page), file); path.Ext(target) == ".md" {
				next = append(next, target)
			}
		}
	}
	for name := range all {
		// The documentation links to the folder of the design decisions, not to each of them.
		if !reached[name] && !strings.HasPrefix(name, "docs/design/") {
			t.Errorf("no page that a reader of the README reaches links to %s", name)
		}
	}
}

// proof matches a test file and the beginning of a test's name, as the tables of proofs write them.
var proof = regexp.MustCompile("`([a-zA-Z0-9_/]+_test\\.go)`(?:, `|: \")([^`\"]+)[`\"]")

// TestProofsExist checks that each test that a page names as a proof exists.
func TestProofsExist(t *testing.T) {
	for name := range pages(t) {
		for _, match := range proof.FindAllStringSubmatch(repository.Read(t, name), -1) {
			if !strings.Contains(repository.Read(t, match[1]), match[2]) {
				t.Errorf("%s names %q, which is not in %s", name, match[2], match[1])
			}
		}
	}
}

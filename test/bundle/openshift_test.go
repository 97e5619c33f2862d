// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package bundle_test

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/repository"
)

// openShift returns the OpenShift versions in hack/bundle/openshift.txt. The map kubernetes has the Kubernetes version of each, or "-"
// if it is unknown.
func openShift() (versions []string, kubernetes map[string]string, err error) {
	text, err := os.ReadFile(repository.Path("hack", "bundle", "openshift.txt"))
	if err != nil {
		return nil, nil, err
	}
	kubernetes = map[string]string{}
	for _, row := range regexp.MustCompile(`(?m)^(v\d+\.\d+) (1\.\d+|-)$`).FindAllStringSubmatch(string(text), -1) {
		kubernetes[row[1]] = row[2]
		versions = append(versions, row[1])
	}
	if len(versions) < 8 || len(versions) != len(kubernetes) {
		return nil, nil, fmt.Errorf("hack/bundle/openshift.txt has the versions %q", versions)
	}
	return versions, kubernetes, nil
}

func catalogs(t *testing.T) []string {
	t.Helper()
	versions, _, err := openShift()
	if err != nil {
		t.Fatal(err)
	}
	return versions
}

// make must build catalogs for the versions in hack/bundle/openshift.txt. The file must have OpenShift 5, and community.sh must
// accept that version.
func TestMakeNamesTheCatalogsOfTheTable(t *testing.T) {
	versions := catalogs(t)
	command := exec.Command("make", "--no-print-directory", "--eval", "show:; @echo $(OPENSHIFT_CATALOGS)", "show")
	command.Dir = repository.Path()
	output, err := command.Output()
	if want := strings.Join(versions, ",") + "\n"; err != nil || string(output) != want {
		t.Errorf("%v: make names %q, want %q", err, output, want)
	}
	if folder := t.TempDir(); !slices.Contains(versions, "v5.0") {
		t.Error("the table lacks OpenShift 5")
	} else if output, code := community(t, folder, "OPENSHIFT_CATALOGS=v4.23,v5.0"); code != 0 {
		t.Error(output)
	}
}

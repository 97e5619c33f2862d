// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build olm

package olm

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// repository is the root of the repository: tests run in the folder of their package.
const repository = "../.."

// read returns a file of the repository.
func read(path string) string {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(repository, path))
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}

// kubectl runs kubectl, which must succeed, and returns what it prints.
func kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	output, err := run(ctx, repository, "kubectl", args...)
	Expect(err).NotTo(HaveOccurred())
	return output
}

// operatorSDK runs operator-sdk, which must succeed, and returns what it prints. It works in a folder that goes with the
// spec, since it leaves files where it is.
func operatorSDK(ctx context.Context, args ...string) string {
	GinkgoHelper()
	output, err := run(ctx, GinkgoT().TempDir(), "operator-sdk", args...)
	Expect(err).NotTo(HaveOccurred())
	return output
}

// run runs a command in a folder. What it prints goes to the report as well.
func run(ctx context.Context, folder, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var stdout, stderr strings.Builder
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = folder, os.Environ(), &stdout, &stderr
	fmt.Fprintln(GinkgoWriter, "$", name, strings.Join(args, " "))
	err := cmd.Run()
	fmt.Fprint(GinkgoWriter, stdout.String(), stderr.String())
	if err != nil {
		return stdout.String(), fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}

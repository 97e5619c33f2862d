// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// repository is the root of the repository: tests run in the folder of their package.
const repository = "../.."

// The installation that make deploy makes.
const (
	operatorNamespace  = "memcached-operator-system"
	operatorDeployment = "memcached-operator-controller-manager"
)

// deploy installs the operator with an image, or changes its image, and waits until it has replaced the one before.
func deploy(ctx context.Context, image string) {
	GinkgoHelper()
	makeTarget(ctx, "deploy", "IMG="+image)
	kubectl(ctx, "--namespace", operatorNamespace, "rollout", "status", "deployment", operatorDeployment, "--timeout=2m")
}

// makeTarget runs a target of the Makefile as a user does.
func makeTarget(ctx context.Context, args ...string) {
	GinkgoHelper()
	_, err := run(ctx, "make", append([]string{"--no-print-directory"}, args...)...)
	Expect(err).NotTo(HaveOccurred())
}

// kubectl runs kubectl, which must succeed, and returns what it prints.
func kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	output, err := tryKubectl(ctx, args...)
	Expect(err).NotTo(HaveOccurred())
	return output
}

// tryKubectl runs kubectl and returns what it prints. The error has what it complains of.
func tryKubectl(ctx context.Context, args ...string) (string, error) {
	return run(ctx, "kubectl", args...)
}

// run runs a command in the root of the repository.
func run(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var stdout, stderr strings.Builder
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = repository, os.Environ(), &stdout, &stderr
	fmt.Fprintln(GinkgoWriter, "$", name, strings.Join(args, " "))
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}

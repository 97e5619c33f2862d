// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Runner runs the blocks of pages as a reader does.
type Runner struct {
	// Root is the folder of the repository, in which commands run.
	Root string
	// Env is added to the environment of the commands.
	Env []string
	// Scratch is a folder for manifests and a kubeconfig.
	Scratch string
}

// cache is the Memcached that the pages rely on: see docs/README.md.
const cache = `
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: sessions}
spec: {size: 3, workload: StatefulSet}
`

// Enter creates a namespace, unless it exists, and makes it the default of later commands. Enter then creates the Memcached that the
// pages rely on.
func (r *Runner) Enter(ctx context.Context, namespace string) error {
	kubeconfig := filepath.Join(r.Scratch, "kubeconfig")
	script := fmt.Sprintf("kubectl config view --raw --flatten >%[1]s; kubectl config --kubeconfig=%[1]s set-context --current "+
		"--namespace=%[2]s; kubectl get namespace %[2]s || kubectl create namespace %[2]s", kubeconfig, namespace)
	if got := r.run(ctx, script); got.err != nil {
		return fmt.Errorf("entering namespace %s: %w\n%s", namespace, got.err, got.output)
	}
	r.Env = append(r.Env, "KUBECONFIG="+kubeconfig)
	return r.Run(ctx, Page{Path: "docs/README.md"}, Block{Language: "yaml", Text: cache})
}

// Run runs one block: commands in bash until one fails, or a manifest with kubectl apply. It returns an error if the outcome
// differs from what the marker says.
func (r *Runner) Run(ctx context.Context, page Page, block Block) error {
	if block.Language == "yaml" {
		return r.apply(ctx, page, block)
	}
	return judge(page, block, r.run(ctx, block.Text))
}

// Validate asks the API server whether it would accept a manifest.
func (r *Runner) Validate(ctx context.Context, page Page, block Block) error {
	block.Marker = "" // the manifest must be valid, whatever the marker says
	return r.apply(ctx, page, block, "--dry-run=server")
}

func (r *Runner) apply(ctx context.Context, page Page, block Block, flags ...string) error {
	file := filepath.Join(r.Scratch, "manifest.yaml")
	if err := os.WriteFile(file, []byte(block.Text), 0o600); err != nil {
		return err
	}
	return judge(page, block, r.run(ctx, fmt.Sprintf("kubectl apply %s -f %s", strings.Join(flags, " "), file)))
}

type outcome struct {
	output string
	err    error
}

func (r *Runner) run(ctx context.Context, script string) outcome {
	command := exec.CommandContext(ctx, "bash", "-o", "errexit", "-o", "nounset", "-o", "pipefail", "-c", script)
	command.Dir = r.Root
	command.WaitDelay = time.Second // limits the wait for processes that the script leaves running
	command.Env = append(os.Environ(), r.Env...)
	output, err := command.CombinedOutput()
	return outcome{string(output), err}
}

// judge returns an error if an outcome differs from what the marker of the block says.
func judge(page Page, block Block, got outcome) error {
	words, mustFail := strings.CutPrefix(block.Marker, fails)
	switch {
	case mustFail && got.err == nil:
		return fmt.Errorf("%s:%d succeeds, but the page says that it fails:\n%s", page.Path, block.Line, got.output)
	case mustFail && !strings.Contains(got.output, words):
		return fmt.Errorf("%s:%d fails without the words %q:\n%s", page.Path, block.Line, words, got.output)
	case !mustFail && got.err != nil:
		return fmt.Errorf("%s:%d: %w\n%s%s", page.Path, block.Line, got.err, block.Text, got.output)
	}
	return nil
}

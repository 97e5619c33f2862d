// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package docs_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/example/memcached-operator/test/docs"
	"github.com/example/memcached-operator/test/repository"
)

// notInNames matches the characters that TestPagesRun replaces in the path of a page to get the name of a namespace.
var notInNames = regexp.MustCompile(`[^a-z0-9]`)

// marker matches the markers that a block may have: see package docs.
var marker = regexp.MustCompile(`^(|run by make test-e2e|run: .+|fails: .+|not run: .+)$`)

// A block must have no marker, or one that package docs explains. The language of the block must tell readers and tests whether the
// block is a command. If the marker has a name, a test of test/e2e must use that name.
func TestBlocksSayHowTheyRun(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "test", "e2e", "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	stories := ""
	for _, file := range files {
		stories += repository.ReadFile(t, file)
	}
	for _, page := range pages(t) {
		for _, block := range page.Blocks {
			if !marker.MatchString(block.Marker) {
				t.Errorf("%s:%d: the comment in front of the block is %q: see package docs", page.Path, block.Line, block.Marker)
			}
			if slices.Contains([]string{"", "bash", "shell", "console", "yml"}, block.Language) {
				t.Errorf("%s:%d: the language of the block is %q: use sh, yaml or text", page.Path, block.Line, block.Language)
			}
			if name := block.Name(); name != "" && !strings.Contains(stories, strconv.Quote(name)) {
				t.Errorf("%s:%d: test/e2e does not know the name %s", page.Path, block.Line, name)
			}
		}
	}
}

// The test runs the commands and applies the manifests of each page in order. It leaves out the blocks that test/e2e runs, and those
// that nothing runs. The API server must accept each Memcached on a page, even if no command applies it.
func TestPagesRun(t *testing.T) {
	server, ran, valid := start(t), 0, 0
	for name, page := range pages(t) {
		if !slices.ContainsFunc(page.Blocks, runsHere) && !slices.ContainsFunc(page.Blocks, showsMemcached) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			runner := server.inNamespace(t, notInNames.ReplaceAllString(strings.ToLower(name), "-"))
			for _, block := range page.Blocks {
				switch {
				case runsHere(block):
					ran++
					within(t, func(ctx context.Context) error { return runner.Run(ctx, page, block) })
				case showsMemcached(block):
					valid++
					within(t, func(ctx context.Context) error { return runner.Validate(ctx, page, block) })
				}
			}
		})
	}
	t.Logf("%d blocks ran, and %d more Memcacheds are valid", ran, valid)
	if ran < 30 {
		t.Errorf("only %d blocks ran", ran)
	}
}

// runsHere reports whether TestPagesRun runs a block.
func runsHere(block docs.Block) bool { return block.Runs() && block.Marker != docs.OnCluster }

var aMemcached = regexp.MustCompile(`(?m)^apiVersion: cache\.example\.com/.*\nkind: Memcached$`)

func showsMemcached(block docs.Block) bool {
	return block.Language == "yaml" && aMemcached.MatchString(block.Text)
}

func within(t *testing.T, step func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	if err := step(ctx); err != nil {
		t.Error(err)
	}
}

// server holds environment variables that make commands use an API server. The API server has the objects of config/default, but the
// operator does not run.
type server []string

func start(t *testing.T) server {
	t.Helper()
	environment := &envtest.Environment{}
	_, err := environment.Start()
	t.Cleanup(func() {
		if err := environment.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	kubectl := environment.ControlPlane.KubectlPath
	if _, err := os.Stat(kubectl); err != nil {
		t.Fatalf("the test runs kubectl as readers do: hack/binaries.sh kubectl builds it (%v)", err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, environment.KubeConfig, 0o600); err != nil {
		t.Fatal(err)
	}
	s := server{"KUBECONFIG=" + kubeconfig, "HOME=" + t.TempDir(), "PATH=" + commands(t, kubectl)}
	installation := docs.Parse("the installation", []byte("```sh\nkubectl apply -k config/default\n"+
		"kubectl wait --for=condition=Established crd/memcacheds.cache.example.com\n```\n"))
	within(t, func(ctx context.Context) error { return s.runner(t).Run(ctx, installation, installation.Blocks[0]) })
	return s
}

// commands returns a folder with kubectl and some harmless commands. The blocks of TestPagesRun can use only these, because other
// commands could build, start or delete things on the machine.
func commands(t *testing.T, kubectl string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"bash", "cat", "date", "grep", "head", "mktemp", "openssl", "sleep", "sort"} {
		path, err := exec.LookPath(name)
		if err == nil {
			err = os.Symlink(path, filepath.Join(dir, name))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	kubectl, err := filepath.Abs(kubectl)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(kubectl, filepath.Join(dir, "kubectl")); err != nil {
		t.Fatal(err)
	}
	return dir
}

func (s server) runner(t *testing.T) *docs.Runner {
	t.Helper()
	return &docs.Runner{Root: root, Scratch: t.TempDir(), Env: slices.Clone(s)}
}

func (s server) inNamespace(t *testing.T, namespace string) *docs.Runner {
	t.Helper()
	runner := s.runner(t)
	within(t, func(ctx context.Context) error { return runner.Enter(ctx, namespace) })
	return runner
}

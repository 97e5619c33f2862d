// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"fmt"
	"go/format"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/test/clustertest"
	"github.com/example/memcached-operator/test/docs"
)

// guideBlocks returns the texts of the named blocks in the README, the tutorial and docs/clients, by name.
func guideBlocks() map[string]string {
	GinkgoHelper()
	blocks := map[string]string{}
	for _, path := range append(clustertest.Must(filepath.Glob("../../docs/clients/*.md")), "README.md", "docs/tutorial.md", "docs/clients.md") {
		path = strings.TrimPrefix(path, "../../")
		page := docs.Parse(path, []byte(clustertest.Read(path)))
		maps.Copy(blocks, page.Named())
	}
	return blocks
}

// newGuide creates a Memcached from a named block, and waits until it is Ready. memcached is the name of the block. newGuide fails
// unless guideBlocks returns exactly the names that are listed here.
func newGuide(ctx context.Context, memcached string) *guide {
	GinkgoHelper()
	g := &guide{blocks: guideBlocks()}
	Expect(slices.Sorted(maps.Keys(g.blocks))).To(Equal([]string{
		"django", "go", "keystone", "login", "memcached", "names", "one address", "openssl", "page", "php", "php sessions", "proxy",
		"pylibmc", "pymemcache", "python", "tls", "tools",
	}), "blocks about clients that run")
	namespace := k8s.NewNamespace(ctx)
	manifest := filepath.Join(GinkgoT().TempDir(), "memcached.yaml")
	writeFile(manifest, g.blocks[memcached])
	k8s.Kubectl(ctx, "apply", "--namespace", namespace, "--filename", manifest)
	g.mc = &cachev1alpha1.Memcached{}
	Expect(yaml.Unmarshal([]byte(g.blocks[memcached]), g.mc)).To(Succeed())
	g.mc.Namespace = namespace
	k8s.UntilReady(ctx, g.mc)
	g.service = serviceOf(g.mc)
	return g
}

func serviceOf(mc *cachev1alpha1.Memcached) string {
	return fmt.Sprintf("%s.%s.svc.cluster.local.", nodesOf(mc.Name), mc.Namespace)
}

// followNodes starts the clients that find the nodes by resolving the name of the Service again and again.
func (g *guide) followNodes(ctx context.Context) {
	GinkgoHelper()
	service := "MEMCACHED_SERVICE=" + g.service
	g.clients = []*guideClient{
		newGuideClient(ctx, "pylibmc", service, "test/e2e/clients/driver.py", g.blocks["python"], g.blocks["pylibmc"]),
		newGuideClient(ctx, "pymemcache", service, "test/e2e/clients/driver.py", g.blocks["python"], g.blocks["pymemcache"]),
		newGuideClient(ctx, "php", service, "test/e2e/clients/driver.php", g.blocks["php"]),
		newGuideClient(ctx, "go", service, "test/e2e/clients/driver.go", g.blocks["go"]),
	}
}

// guideClient is a process that runs code of docs/clients.md and a driver. The driver reads commands from its standard input, and uses
// the cache with this code.
type guideClient struct {
	name    string
	input   io.Writer
	answers *bufio.Scanner
}

// newGuideClient starts a client from blocks of code and a driver in the same language. variable, in the form NAME=value, is the
// environment variable that tells the client the servers.
func newGuideClient(ctx context.Context, name, variable, driver string, blocks ...string) *guideClient {
	GinkgoHelper()
	code := strings.Join(blocks, "\n\n")
	var command []string
	switch filepath.Ext(driver) {
	case ".go":
		command = compile(ctx, code, clustertest.Read(driver))
	case ".php":
		command = interpret("php", code, clustertest.Read(driver))
	default:
		// Only Debian's own Python finds the modules of Debian's packages.
		command = interpret("/usr/bin/python3", code, clustertest.Read(driver))
	}
	process := applicationProcess(ctx, variable, command...)
	client := &guideClient{
		name: name, input: clustertest.Must(process.StdinPipe()),
		answers: bufio.NewScanner(clustertest.Must(process.StdoutPipe())),
	}
	startProcess(process)
	return client
}

func interpret(interpreter, code, driver string) []string {
	GinkgoHelper()
	file := filepath.Join(GinkgoT().TempDir(), "client")
	writeFile(file, code+"\n"+driver)
	return []string{interpreter, file}
}

// compile builds a program from the code and the driver, and returns the command that runs it. The code must be formatted.
func compile(ctx context.Context, code, driver string) []string {
	GinkgoHelper()
	Expect(string(clustertest.Must(format.Source([]byte(code))))).To(Equal(code), "gofmt")
	dir := GinkgoT().TempDir()
	sources := []string{filepath.Join(dir, "cache.go"), filepath.Join(dir, "main.go")}
	writeFile(sources[0], code)
	writeFile(sources[1], driver)
	command := filepath.Join(dir, "client")
	k8s.Run(ctx, "go", append([]string{"build", "-o", command}, sources...)...)
	return []string{command}
}

// applicationProcess returns a process, not yet started, with an additional environment variable, NAME=value. The end
// of the context does not kill the process, because a killed process could not end its own children.
func applicationProcess(ctx context.Context, variable string, command ...string) *exec.Cmd {
	process := exec.CommandContext(context.WithoutCancel(ctx), command[0], command[1:]...)
	process.Env = append(os.Environ(), variable, "TMPDIR="+GinkgoT().TempDir())
	process.Stderr = GinkgoWriter
	return process
}

// startProcess starts a process. At the end of the spec, it sends SIGTERM and waits until the process has ended.
func startProcess(process *exec.Cmd) {
	GinkgoHelper()
	Expect(process.Start()).To(Succeed(), "hack/cluster/packages.sh install installs what the clients need")
	DeferCleanup(func() {
		_ = process.Process.Signal(syscall.SIGTERM)
		_ = process.Wait()
	})
}

// outcome is a client's answer to a command: how many requests succeeded and how many failed.
type outcome struct {
	succeeded, failed int
	firstFailure      string
}

func all(keys int) outcome { return outcome{succeeded: keys} }

func (c *guideClient) fill(keys int) outcome { return c.obey("fill", keys) }

// read reads keys. A read succeeds if it returns the value that was written.
func (c *guideClient) read(keys int) outcome { return c.obey("read", keys) }

// use writes each key and reads it. Both together count as one request.
func (c *guideClient) use(keys int) outcome { return c.obey("use", keys) }

func (c *guideClient) obey(command string, keys int) (answer outcome) {
	GinkgoHelper()
	fmt.Fprintln(c.input, command, keys)
	Expect(c.answers.Scan()).To(BeTrue(), "%s must answer; hack/cluster/packages.sh install installs its library: %v", c.name, c.answers.Err())
	words := strings.SplitN(c.answers.Text(), " ", 3)
	Expect(fmt.Sscan(words[0]+" "+words[1], &answer.succeeded, &answer.failed)).To(Equal(2), c.answers.Text())
	answer.firstFailure = strings.Join(words[2:], "")
	return answer
}

func runBlock(ctx context.Context, block, variable string) string {
	GinkgoHelper()
	return string(clustertest.Must(applicationProcess(ctx, variable, "sh", "-eu", "-c", block).Output()))
}

func writeFile(path, content string) {
	GinkgoHelper()
	Expect(os.WriteFile(path, []byte(content), 0o600)).To(Succeed())
}

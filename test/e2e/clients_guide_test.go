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
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/example/memcached-operator/test/clustertest"
)

// guideBlock matches a block of code in docs/clients.md, and the paragraph or comment before it.
var guideBlock = regexp.MustCompile("(?s)([^\n]+\n?[^\n]+)\n+```[a-z]+\n(.*?\n)```\n")

// guideBlocks returns the blocks of docs/clients.md that follow a comment <!-- run: NAME -->, by name. Every other block must say
// that it is not run.
func guideBlocks() map[string]string {
	GinkgoHelper()
	blocks := map[string]string{}
	run := regexp.MustCompile(`<!-- run: (\S+) -->$`)
	text := clustertest.Read("docs/clients.md")
	found := guideBlock.FindAllStringSubmatch(text, -1)
	Expect(found).To(HaveLen(strings.Count(text, "\n```")/2), "blocks with a paragraph or comment before them")
	for _, block := range found {
		before := strings.Join(strings.Fields(block[1]), " ")
		if name := run.FindStringSubmatch(before); name != nil {
			blocks[name[1]] = block[2]
		} else {
			Expect(before).To(HaveSuffix("*Not run by a test:*"), "before the block\n%s", block[2])
		}
	}
	return blocks
}

// guideClient is a process that uses a cache with the code of docs/clients.md, and a driver that obeys commands.
type guideClient struct {
	name    string
	input   io.Writer
	answers *bufio.Scanner
}

// newGuideClient starts a client in the language of its driver.
func newGuideClient(ctx context.Context, name, service, driver string, blocks ...string) *guideClient {
	GinkgoHelper()
	code := strings.Join(blocks, "\n\n")
	var command []string
	switch filepath.Ext(driver) {
	case ".go":
		command = compile(ctx, code, clustertest.Read(driver))
	case ".php":
		command = interpret("php", code, clustertest.Read(driver))
	default:
		// Debian's own: its modules are not for others.
		command = interpret("/usr/bin/python3", code, clustertest.Read(driver))
	}
	process := applicationProcess(ctx, service, command...)
	client := &guideClient{
		name: name, input: clustertest.Must(process.StdinPipe()),
		answers: bufio.NewScanner(clustertest.Must(process.StdoutPipe())),
	}
	startProcess(process)
	return client
}

// interpret returns the command that runs the code and then the driver.
func interpret(interpreter, code, driver string) []string {
	GinkgoHelper()
	file := filepath.Join(GinkgoT().TempDir(), "client")
	writeFile(file, code+"\n"+driver)
	return []string{interpreter, file}
}

// compile returns the command of which the code and the driver are the sources. The code must be formatted.
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

// applicationProcess returns a process with the environment of an application. It does not end with the context, but with a
// signal, so that it can end its own processes.
func applicationProcess(ctx context.Context, service string, command ...string) *exec.Cmd {
	process := exec.CommandContext(context.WithoutCancel(ctx), command[0], command[1:]...)
	process.Env = append(os.Environ(), "MEMCACHED_SERVICE="+service, "TMPDIR="+GinkgoT().TempDir())
	process.Stderr = GinkgoWriter
	return process
}

// startProcess starts a process and ends it with the spec.
func startProcess(process *exec.Cmd) {
	GinkgoHelper()
	Expect(process.Start()).To(Succeed(), "make cluster-packages installs what the clients need")
	DeferCleanup(func() {
		_ = process.Process.Signal(syscall.SIGTERM)
		_ = process.Wait()
	})
}

// outcome is the answer of a client to a command.
type outcome struct {
	succeeded, failed int
	firstFailure      string
}

// all returns the outcome if every request succeeds.
func all(keys int) outcome { return outcome{succeeded: keys} }

// fill writes keys.
func (c *guideClient) fill(keys int) outcome { return c.obey("fill", keys) }

// read reads keys. Those with the value that was written have succeeded.
func (c *guideClient) read(keys int) outcome { return c.obey("read", keys) }

func (c *guideClient) obey(command string, keys int) (answer outcome) {
	GinkgoHelper()
	fmt.Fprintln(c.input, command, keys)
	Expect(c.answers.Scan()).To(BeTrue(), "%s must answer; make cluster-packages installs its library: %v", c.name, c.answers.Err())
	words := strings.SplitN(c.answers.Text(), " ", 3)
	Expect(fmt.Sscan(words[0]+" "+words[1], &answer.succeeded, &answer.failed)).To(Equal(2), c.answers.Text())
	answer.firstFailure = strings.Join(words[2:], "")
	return answer
}

// runBlock runs a block of shell as an application would, and returns its output.
func runBlock(ctx context.Context, block, service string) string {
	GinkgoHelper()
	return string(clustertest.Must(applicationProcess(ctx, service, "sh", "-eu", "-c", block).Output()))
}

func writeFile(path, content string) {
	GinkgoHelper()
	Expect(os.WriteFile(path, []byte(content), 0o600)).To(Succeed())
}

// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build hostile

package hostile

import (
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/launcher/protocol"
	"github.com/example/memcached-operator/internal/memcached"
	"github.com/example/memcached-operator/internal/memcached/desired"
	"github.com/example/memcached-operator/test/operator"
	"github.com/example/memcached-operator/test/process"
	"github.com/example/memcached-operator/test/repository"
)

const (
	kibibyte = 1 << 10
	mebibyte = 1 << 20
	// patience is how long a test may use a connection. Even on a loaded machine, every test needs less.
	patience = time.Minute
)

// node is a real memcached with the arguments that the operator configures. No container limits its memory. limit is
// the memory limit that its container would have, in bytes.
type node struct {
	*process.Process

	address string
	limit   int64
}

// start starts a node of a Memcached with this spec. files maps names of files to contents. In a pod, the agent, a container beside
// memcached, delivers these files.
func start(t *testing.T, spec cachev1alpha1.MemcachedSpec, files map[string][]byte) *node {
	t.Helper()
	container := containerOf(t, spec)
	dir, plain, secure := t.TempDir(), freeAddress(t), freeAddress(t)
	for name, content := range files {
		path := filepath.Join(dir, "current", name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must(t, os.WriteFile(path, content, 0o600))
	}
	self, err := user.Current()
	must(t, err)
	args := []string{"-u", self.Username} // without -u, memcached refuses to start as root
	replacer := strings.NewReplacer("127.0.0.1:"+strconv.Itoa(memcached.Port), plain, "*:"+strconv.Itoa(memcached.TLSPort), secure,
		"/run/memcached", dir)
	for _, arg := range container.Args {
		args = append(args, replacer.Replace(arg))
	}
	n := &node{address: secure, limit: container.Resources.Limits.Memory().Value()}
	if !slices.Contains(args, "-l") {
		n.address, args = plain, append(args, "-l", plain)
	}
	n.Process, err = process.Start(process.Spec{
		Name: "memcached", Path: repository.Path("bin", "memcached"), Args: args, Dir: dir,
		Env: []string{"PATH=" + os.Getenv("PATH")}, LogFile: filepath.Join(dir, "log"),
	})
	must(t, err)
	t.Cleanup(func() { _ = n.Stop(0) }) // kill it, because a graceful stop takes a second
	for {                               // until memcached listens, the kernel refuses connections
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", n.address)
		if err == nil {
			must(t, conn.Close())
			return n
		}
		select {
		case <-n.Done():
			t.Fatal(n.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// containerOf returns the memcached container of a Memcached with this spec, with the arguments that the launcher passes to memcached.
func containerOf(t *testing.T, spec cachev1alpha1.MemcachedSpec) corev1.Container {
	t.Helper()
	mc := &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "sessions"}, Spec: spec}
	wanted := desired.For(memcached.NewView(mc, memcached.Observed{}, time.Now()), memcached.Options{DefaultImage: "memcached", AgentImage: "agent"})
	if wanted.Problem != nil {
		t.Fatal(wanted.Problem)
	}
	container := memcached.PodTemplate(wanted.Workload()).Spec.Containers[0]
	for key, text := range wanted.Wave.Arguments.Data {
		if _, ok := protocol.ListHash(key); ok {
			list, err := protocol.ParseList(text)
			must(t, err)
			container.Args = list.Arguments
		}
	}
	return container
}

// resident returns memcached's resident memory in bytes.
func (n *node) resident(t *testing.T) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", n.Pid()))
	must(t, err)
	pages, err := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
	must(t, err)
	return pages * int64(os.Getpagesize())
}

func (n *node) connect(t *testing.T) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", n.address)
	must(t, err)
	must(t, conn.SetDeadline(time.Now().Add(patience)))
	return conn
}

func freeAddress(t *testing.T) string {
	t.Helper()
	address, err := operator.FreeAddress()
	must(t, err)
	return address
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// TestCommands compares what users see with testdata/*.golden. "go test ./internal/plugin -update" rewrites these files.
func TestCommands(t *testing.T) {
	for name, test := range map[string]struct {
		prepare func(*testing.T, *world)
		input   string
		args    string
	}{
		"help":                    {args: "--help"},
		"help-status":             {args: "status --help"},
		"unknown-command":         {args: "statsu"},
		"unknown-like-none":       {args: "frobnicate"},
		"unknown-flag":            {args: "status --frobnicate"},
		"version":                 {args: "--version"},
		"status":                  {args: "status --interval=0"},
		"status-everywhere":       {args: "status -A --interval=0"},
		"status-of-one":           {args: "status sessions --interval=0"},
		"status-yaml":             {args: "status pages --interval=0 -o yaml"},
		"status-json":             {args: "status -A --interval=0 -o json"},
		"status-rate":             {args: "status pages --interval=1ms"},
		"status-overview":         {args: "status sessions --interval=0", prepare: describe},
		"status-forbidden":        {args: "status sessions --interval=0", prepare: forbid},
		"status-not-seen":         {args: "status fresh --namespace=blog --interval=0"},
		"status-unknown":          {args: "status session"},
		"status-unknown-in-empty": {args: "status sessions -n elsewhere"},
		"status-of-none":          {args: "status -n elsewhere"},
		"status-bad-format":       {args: "status -o xml"},
		"status-both":             {args: "status sessions -A"},
		"status-troubles":         {args: "status sessions --interval=0 --node-timeout=100ms", prepare: troubles},
		"status-troubles-list":    {args: "status --interval=0 --node-timeout=1s", prepare: troubles},
		"status-authentication":   {args: "status pages --interval=0", prepare: authenticate},
		"status-terminating":      {args: "status sessions --interval=0", prepare: terminate},
		"status-credentials":      {args: "status pages --interval=0", prepare: secure},
		"status-credentials-json": {args: "status pages --interval=0 -o json", prepare: secure},
		"status-credentials-list": {args: "status --interval=0", prepare: secure},
		"status-users":            {args: "status pages --interval=0", prepare: secureWithUsers},
		"status-without-agents":   {args: "status pages --interval=0 --node-timeout=100ms", prepare: secureWithoutAgents},
		"status-crowded":          {args: "status pages --interval=0", prepare: crowd},
		"status-twins":            {args: "status pages --interval=0 --node-timeout=1s", prepare: twins},
		"status-twins-named":      {args: "status copies --interval=0", prepare: twins},
		"stats":                   {args: "stats pages"},
		"stats-settings-of-node":  {args: "stats pages settings --node=pages-1"},
		"stats-items-json":        {args: "stats pages items -o json --node=pages-0"},
		"stats-slabs":             {args: "stats pages slabs"},
		"stats-troubles":          {args: "stats sessions items --node-timeout=100ms", prepare: troubles},
		"stats-unknown-node":      {args: "stats sessions --node=sessions-0"},
		"stats-unknown-topic":     {args: "stats sessions conns"},
		"stats-user":              {args: "stats pages settings --user=web --node=pages-1", prepare: withUsers},
		"stats-without-name":      {args: "stats"},
		"servers":                 {args: "servers sessions"},
		"servers-names":           {args: "servers pages"},
		"servers-addresses":       {args: "servers pages --nodes-by=address"},
		"servers-no-names":        {args: "servers sessions --nodes-by=name"},
		"servers-troubles":        {args: "servers sessions", prepare: troubles},
		"servers-port":            {args: "servers pages --port=11212", prepare: encrypt},
		"servers-no-port":         {args: "servers pages --port=11212"},
		"get-miss":                {args: "get pages user:42"},
		"get-bad-key":             {args: "get pages user\t42"},
		"get-authentication":      {args: "get pages user:42", prepare: authenticate},
		"set-authentication":      {args: "set pages user:42 hello", prepare: authenticate},
		"set-user":                {args: "set pages user:42 hello --user=web", prepare: withUsers},
		"get-other-user":          {args: "get pages user:42 --user=eve", prepare: withUsers},
		"get-user-refused":        {args: "get pages user:42 --user=old", prepare: withUsers},
		"get-user-prompt":         {args: "get pages user:42 --user=web", prepare: withForbiddenSecret},
		"get-user-of-none":        {args: "get pages user:42 --user=web"},
		"get-user-no-memcached":   {args: "get pages user:42 --user=web", prepare: withBasicAuth},
		"delete-miss":             {args: "delete pages user:42 --hash=jump"},
		"flush":                   {args: "flush pages", input: "y\n"},
		"flush-user":              {args: "flush pages --yes --user=web", prepare: withUsers},
		"flush-paced":             {args: "flush pages --yes --pace=10ms"},
		"flush-pace-negative":     {args: "flush pages --yes --pace=-1s"},
		"flush-node":              {args: "flush pages --node=pages-0 --yes"},
		"flush-no":                {args: "flush pages", input: "\n"},
		"flush-nobody":            {args: "flush pages"},
		"flush-refused":           {args: "flush pages --yes", prepare: keepItems},
		"flush-forbidden":         {args: "flush pages --yes", prepare: forbidFlush},
		"flush-silent":            {args: "flush sessions --yes --node-timeout=100ms", prepare: troubles},
		"size":                    {args: "size sessions --interval=1ms"},
		"size-evicting":           {args: "size sessions --interval=1ms", prepare: evictItems},
		"size-file":               {args: "size pages --interval=1ms", prepare: restartedInFile("1023")},
		"size-file-spare":         {args: "size pages --interval=1ms", prepare: restartedInFile("38")},
		"size-users":              {args: "size pages --interval=1ms --user=web", prepare: withUsers},
		"size-troubles":           {args: "size sessions --interval=1ms --node-timeout=100ms", prepare: troubles},
		"size-no-interval":        {args: "size sessions --interval=0"},
		"versions":                {args: "versions --all-namespaces", prepare: mixVersions},
		"versions-of-none":        {args: "versions -n elsewhere"},
		"flush-crash":             {args: "flush sessions --yes", prepare: func(t *testing.T, w *world) { w.crash(t, "sessions-7d9f-kx2lm") }},
		"flush-evicted":           {args: "flush sessions --yes", prepare: evict(3)},
		"status-evicted":          {args: "status sessions --interval=0", prepare: evict(3)},
		"status-missing":          {args: "status sessions --interval=0", prepare: evict(4)},
		"restart-evicted":         {args: "restart sessions", input: "no\n", prepare: evict(3)},
		"restart-deployment":      {args: "restart sessions", input: "no\n"},
		"restart-statefulset":     {args: "restart pages --yes --wait=false"},
		"restart-file":            {args: "restart pages --yes --wait=false", prepare: inFile(2)},
		"restart-file-of-one":     {args: "restart pages --yes --wait=false", prepare: inFile(1)},
		"restart-memory-of-one":   {args: "restart pages --yes --wait=false", prepare: ofSize(1)},
		"flush-forbidden-file":    {args: "flush pages --yes", prepare: func(t *testing.T, w *world) { forbidFlush(t, w); inFile(2)(t, w) }},
		"restart-authentication":  {args: "restart pages --yes --wait=false", prepare: authenticate},
		"restart-crash": {
			args: "restart sessions", input: "no\n", prepare: func(t *testing.T, w *world) { w.crash(t, "sessions-7d9f-kx2lm") },
		},
		"restart-paused": {args: "restart pages --yes", prepare: pause},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, interceptor.Funcs{})
			if test.prepare != nil {
				test.prepare(t, w)
			}
			got := w.run(t, test.input, strings.Split(test.args, " ")...)
			compare(t, name, "$ kubectl memcached "+test.args+"\n"+got.String())
		})
	}
}

// TestKeysAreOnTheirNode stores, reads and deletes a key. Only the node that holds the key may get the item.
func TestKeysAreOnTheirNode(t *testing.T) {
	for _, test := range []struct{ flags, cache, key, node string }{
		{"--hash=ketama", "pages", "user:42", "pages-0"},
		{"--hash=ketama --nodes-by=address", "pages", "user:42", "pages-1"},
		{"--hash=ketama --port=11212", "pages", "user:42", "pages-1"},
		{"--hash=modula", "sessions", "user:42", "sessions-7d9f-qq8pv"},
		{"--hash=jump", "sessions", "user:42", "sessions-7d9f-qq8pv"},
		{"--hash=ketama", "pages", "page\u30007", "pages-1"}, // to memcached, only an ASCII space separates words
	} {
		t.Run(test.cache+test.key+test.flags, func(t *testing.T) {
			w := newWorld(t, interceptor.Funcs{})
			encrypt(t, w)
			key, value := test.key, "hello\r\nworld"
			args := func(command ...string) []string {
				return append([]string{command[0], test.cache, key}, append(command[1:], strings.Split(test.flags, " ")...)...)
			}
			if got := w.run(t, value, args("set", "-", "--expire=1m")...); got.code != 0 || !strings.HasPrefix(got.stdout, "stored on "+test.node+" ") {
				t.Fatalf("set: %s", got)
			}
			for name, server := range w.memcacheds {
				if item := server.items[key]; (string(item.value) == value && item.expiry == "60") != (name == test.node) {
					t.Errorf("%s has the item %+v", name, item)
				}
			}
			if got := w.run(t, "", args("get")...); got.stdout != value || !strings.HasPrefix(got.stderr, test.node+" ") {
				t.Errorf("get: %s", got)
			}
			if got := w.run(t, "", args("delete")...); got.code != 0 || len(w.memcacheds[test.node].items) != 0 {
				t.Errorf("delete: %s", got)
			}
		})
	}
}

// TestExitCodes checks the codes for programs: 0 for success, 1 for a miss or a failure, 2 for a mistake in the command line.
func TestExitCodes(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{})
	for args, want := range map[string]int{
		"status": 0, "status nothing": 1, "get pages key": 1, "get pages": 2, "get pages key --hash=md5": 2, "flush pages": 1,
		"status --watch --interval=0": 2, "set pages key value --expire=1.5s": 2, "set pages key value --expire=-1s": 2,
		"set pages key value --expire=999999h": 2, "servers pages --nodes-by=number": 2,
		"get pages key --port=80": 2, "servers pages --port=0": 2,
	} {
		if got := w.run(t, "", strings.Split(args+" --node-timeout=1s", " ")...); got.code != want {
			t.Errorf("%s: exit code %d, want %d: %s", args, got.code, want, got)
		}
	}
}

// Scripts may use "status" as a check: the command fails if a cache should have nodes, but no node answers. It writes its output
// nevertheless.
func TestStatusOfACacheThatDoesNotAnswer(t *testing.T) {
	for _, args := range []string{"status pages", "status", "status pages --output=json"} {
		w := newWorld(t, interceptor.Funcs{})
		args += " --interval=0 --node-timeout=1s"
		w.memcacheds["pages-0"].hangs = true
		if got := w.run(t, "", strings.Split(args, " ")...); got.code != 0 {
			t.Errorf("%s, one of two nodes answers: %s", args, got)
		}
		w.memcacheds["pages-1"].hangs = true
		got := w.run(t, "", strings.Split(args, " ")...)
		if got.code != 1 || !strings.Contains(got.stderr, "shop/pages: no node answers with its figures") || !strings.Contains(got.stdout, "pages") {
			t.Errorf("%s, no node answers: %s", args, got)
		}
	}
}

// If the API server refuses a request, the error shows the missing permission.
func TestForbidden(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New(`pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "shop"`)
		},
	})
	got := w.run(t, "", "status", "pages")
	if got.code != 1 || !strings.Contains(got.stderr, `cannot list resource "pods"`) {
		t.Errorf("got %s", got)
	}
}

// TestWatch interrupts "status --watch". The interrupted command must not fail.
func TestWatch(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	reads := 0
	w := newWorld(t, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if _, isCache := object.(*cachev1alpha1.Memcached); isCache {
				reads++
			}
			if reads == 3 {
				interrupt()
			}
			return c.Get(ctx, key, object, options...)
		},
	})
	got := w.runWithin(ctx, strings.NewReader(""), "status", "pages", "--watch", "--interval=1ms")
	if got.code != 0 || strings.Count(got.stdout, "TOTAL") != 2 {
		t.Errorf("got %s", got)
	}
}

// TestInterruptedInput interrupts commands while they wait for a confirmation or for a typed value.
func TestInterruptedInput(t *testing.T) {
	for _, args := range []string{"flush pages", "restart pages", "set pages user:42 -"} {
		w := newWorld(t, interceptor.Funcs{})
		ctx, interrupt := context.WithCancel(t.Context())
		nobody, pipe := io.Pipe()
		t.Cleanup(func() { pipe.Close() })
		input := readerFunc(func(buffer []byte) (int, error) {
			interrupt()
			return nobody.Read(buffer)
		})
		done := make(chan result, 1)
		go func() { done <- w.runWithin(ctx, input, strings.Split(args, " ")...) }()
		select {
		case got := <-done:
			if got.code != 1 || got.stdout != "" || strings.Contains(got.stderr, "error") {
				t.Errorf("%s: got %s", args, got)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("%s has not ended", args)
		}
	}
}

// pausing is a clock that calls a function when a command begins to wait, and never ends the wait.
type pausing struct {
	stopped

	begin func()
}

func (p pausing) After(time.Duration) <-chan time.Time {
	p.begin()
	return nil
}

// An interrupted flush says which nodes have not been flushed.
func TestInterruptedFlush(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{})
	w.memcacheds["pages-0"].keepsItems = true
	ctx, interrupt := context.WithCancel(t.Context())
	w.clock = pausing{begin: interrupt}
	compare(t, "flush-interrupted", w.runWithin(ctx, strings.NewReader(""), "flush", "pages", "--yes", "--pace=1m").String())
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(buffer []byte) (int, error) { return f(buffer) }

// A shell completes names that are in the cluster, the topics of "stats", and the values of flags.
func TestCompletion(t *testing.T) {
	w := newWorld(t, interceptor.Funcs{})
	if err := w.client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metaNamed("shop")}); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"status ":                   "pages\nsessions\n:4\n",
		"flush -n blog ":            "fresh\n:4\n",
		"stats pages ":              "settings\nitems\nslabs\n:4\n",
		"stats pages --node ":       "pages-0\npages-1\n:4\n",
		"get pages key --hash ":     "ketama\nmodula\njump\n:4\n",
		"get pages key --nodes-by ": "name\naddress\n:4\n",
		"get pages key --port ":     "11211\n11212\n:4\n",
		"status -n ":                "shop\n:4\n",
		"restart pages ":            ":4\n",
		"stats nothing --node ":     ":4\n",
	} {
		got := w.run(t, "", append([]string{"__complete"}, strings.Split(args, " ")...)...)
		if got.stdout != want {
			t.Errorf("%s: got %q, want %q", args, got.stdout, want)
		}
	}
}

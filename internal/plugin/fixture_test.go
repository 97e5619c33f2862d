// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached"
)

var update = flag.Bool("update", false, "rewrite testdata/*.golden")

func compare(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
}

// now is the current time in all tests.
var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// stopped is a clock that always shows the time in the variable now. Its timers are real.
type stopped struct{ clock.RealClock }

func (stopped) Now() time.Time                { return now }
func (stopped) Since(time.Time) time.Duration { return time.Second }

// world is a cluster in which memcached, agents and launchers are fakes.
type world struct {
	client client.WithWatch
	// memcacheds are the running memcacheds by pod name.
	memcacheds map[string]*fakeMemcached
	// agents are the series of the running agents, by pod name.
	agents map[string]string
	// problems are the problems that these agents report as JSON, by pod name.
	problems map[string]string
	// launchers are the answers of the running launchers by pod name.
	launchers map[string]string
	// dialErrors are the errors for pods that cannot be reached, by pod name.
	dialErrors map[string]error
	// forbidden are the errors for resources that the user may not read, by resource.
	forbidden map[string]error
	logs      map[string]string
	clock     clock.Clock
	// password is what the user types as the password. It is empty without a terminal.
	password string
}

type result struct {
	stdout, stderr string
	code           int
}

// String returns the result as users see it.
func (r result) String() string {
	text := r.stdout
	if r.stderr != "" {
		text += "[standard error]\n" + r.stderr
	}
	return text + fmt.Sprintf("[exit code %d]\n", r.code)
}

func (w *world) run(t *testing.T, input string, args ...string) result {
	t.Helper()
	return w.runWithin(t.Context(), strings.NewReader(input), args...)
}

func (w *world) runWithin(ctx context.Context, input io.Reader, args ...string) result {
	var out, errOut bytes.Buffer
	s := &session{
		IOStreams:  genericiooptions.IOStreams{In: input, Out: &out, ErrOut: &errOut},
		version:    "v1.2.3",
		clock:      w.clock,
		pollPeriod: time.Millisecond,
	}
	if w.password != "" {
		s.readPassword = func() (string, error) { return w.password, nil }
	}
	s.connect = func(s *session) (*cluster, error) {
		namespace := *s.flags.Namespace
		if namespace == "" {
			namespace = "shop"
		}
		return w.cluster(namespace), nil
	}
	code := run(ctx, s, args)
	return result{out.String(), errOut.String(), code}
}

func (w *world) cluster(namespace string) *cluster {
	return &cluster{
		Client:    w.client,
		namespace: namespace,
		dial: func(_ context.Context, pod *corev1.Pod, port int) (net.Conn, error) {
			if err := w.dialErrors[pod.Name]; err != nil {
				return nil, err
			}
			if metrics, runs := w.agents[pod.Name]; runs && port == memcached.MetricsPort {
				return serveAgent(metrics, w.problems[pod.Name]), nil
			}
			if status, runs := w.launchers[pod.Name]; runs && port == memcached.LauncherPort {
				return serveHTTP(func(*http.Request) (_, _ string) { return status, "200 OK" }), nil
			}
			server, runs := w.memcacheds[pod.Name]
			if !runs || port != memcached.Port {
				return nil, fmt.Errorf("nothing runs in %s at %d", pod.Name, port)
			}
			return server.connect(), nil
		},
		logs: func(_ context.Context, pod *corev1.Pod, options *corev1.PodLogOptions) (io.ReadCloser, error) {
			log, exists := w.logs[pod.Name+"/"+options.Container]
			if !exists || options.Previous {
				return nil, errors.New("the log was rotated")
			}
			return io.NopCloser(strings.NewReader(log)), nil
		},
		serverVersion: func() (string, error) { return "v1.37.0", nil },
	}
}

// newWorld returns a world with three caches. In the namespace "shop", "sessions" is a Deployment and "pages" a StatefulSet. In the
// namespace "blog", "fresh" is a cache that the operator has not seen yet.
func newWorld(t *testing.T, funcs interceptor.Funcs) *world {
	t.Helper()
	sessions := newCache("shop", "sessions", 3, cachev1alpha1.WorkloadDeployment)
	pages := newCache("shop", "pages", 2, cachev1alpha1.WorkloadStatefulSet)
	pages.Status.Servers = []string{"pages-0.pages.shop.svc:11211", "pages-1.pages.shop.svc:11211"}
	fresh := newCache("blog", "fresh", 0, "")
	fresh.Status = cachev1alpha1.MemcachedStatus{}
	objects := []client.Object{
		sessions, pages, fresh,
		newPod(sessions, "sessions-7d9f-kx2lm", "10.244.0.12"),
		newPod(sessions, "sessions-7d9f-qq8pv", "10.244.0.9"),
		newPod(sessions, "sessions-7d9f-zb4td", "10.244.0.10"),
		newPod(pages, "pages-0", "10.244.0.20"),
		newPod(pages, "pages-1", "10.244.0.21"),
	}
	w := &world{
		memcacheds: map[string]*fakeMemcached{}, agents: map[string]string{}, dialErrors: map[string]error{},
		forbidden: map[string]error{}, logs: map[string]string{},
		problems: map[string]string{}, clock: stopped{},
	}
	for i, object := range objects {
		if pod, isPod := object.(*corev1.Pod); isPod {
			w.memcacheds[pod.Name] = newMemcached(t, i)
		}
	}
	if funcs.Get == nil {
		funcs.Get = func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			return cmp.Or(w.forbidden[resourceOf(object)], c.Get(ctx, key, object, options...))
		}
	}
	if funcs.List == nil {
		funcs.List = func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			return cmp.Or(w.forbidden[resourceOf(list)], c.List(ctx, list, options...))
		}
	}
	w.client = fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(objects...).
		WithStatusSubresource(&cachev1alpha1.Memcached{}, &cachev1alpha1.MemcachedProxy{}).WithInterceptorFuncs(funcs).Build()
	return w
}

// resourceOf returns the resource of an object or a list, such as "secrets" for a *v1.SecretList.
func resourceOf(object any) string {
	kind := reflect.TypeOf(object).Elem().Name()
	return strings.ToLower(strings.TrimSuffix(kind, "List")) + "s"
}

func newCache(namespace, name string, size int32, workload cachev1alpha1.WorkloadKind) *cachev1alpha1.Memcached {
	return &cachev1alpha1.Memcached{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Generation: 1},
		Spec:       cachev1alpha1.MemcachedSpec{Size: size, Workload: workload},
		Status: cachev1alpha1.MemcachedStatus{
			ObservedGeneration: 1, Replicas: size, ReadyReplicas: size, UpdatedReplicas: size,
			ServiceName: name, Image: "docker.io/library/memcached:1.6.45",
			Conditions: []metav1.Condition{{
				Type: cachev1alpha1.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: 1,
				Reason: cachev1alpha1.ReasonAllNodesReady, Message: "every node is ready and up to date",
			}},
		},
	}
}

func newPod(mc *cachev1alpha1.Memcached, name, address string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: mc.Namespace, Name: name, Labels: memcached.SelectorLabels(mc)},
		Spec: corev1.PodSpec{NodeName: "worker-1", Containers: []corev1.Container{{
			Name:  "memcached",
			Ports: []corev1.ContainerPort{{Name: "memcached", ContainerPort: 11211}},
		}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: address,
			Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: "memcached", Ready: true, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}},
			}},
		},
	}
}

// change edits an object of the world, including the object's status.
func change[T client.Object](t *testing.T, w *world, object T, name string, edit func(T)) {
	t.Helper()
	if err := w.client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: name}, object); err != nil {
		t.Fatal(err)
	}
	edit(object)
	status := object.DeepCopyObject().(client.Object)
	if err := w.client.Update(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	status.SetResourceVersion(object.GetResourceVersion())
	if err := w.client.Status().Update(t.Context(), status); err != nil {
		t.Fatal(err)
	}
}

func (w *world) crash(t *testing.T, name string) {
	t.Helper()
	change(t, w, &corev1.Pod{}, name, func(pod *corev1.Pod) {
		pod.Status.Conditions[0].Status = corev1.ConditionFalse
		pod.Status.ContainerStatuses[0].State = corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"},
		}
	})
}

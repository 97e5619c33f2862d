// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"slices"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcached/memcachedtest"
	"github.com/example/memcached-operator/test/docs"
	"github.com/example/memcached-operator/test/repository"
)

// unstructured returns the row's Memcached with its status, as a client without Go types reads it.
func (c statusCase) unstructured(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	mc := c.mc.DeepCopy()
	mc.Status = c.status(noon)
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(mc)
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{Object: content}
	object.SetGroupVersionKind(cachev1alpha1.GroupVersion.WithKind("Memcached"))
	return object
}

// kstatusOf maps the most important rows to the expected result. For the other rows, TestKstatus derives the result.
var kstatusOf = map[string]status.Status{
	"created":                                                  status.CurrentStatus,
	"the operator has a newer default image":                   status.CurrentStatus,
	"creating: one node is ready":                              status.InProgressStatus,
	"rolling out: the first node is being replaced":            status.InProgressStatus,
	"a larger size is held back":                               status.InProgressStatus,
	"the rollout is overdue":                                   status.FailedStatus,
	"refused: Conflict":                                        status.FailedStatus,
	"the Service is refused, the rollout goes on":              status.InProgressStatus,
	"the Memcached is being deleted, its pods are still there": status.TerminatingStatus,
}

// TestKstatus uses the library of Flux, Helm and kpt. Current must mean Ready. While a change is in progress, the result must be
// InProgress, even if something else is wrong. Failed must mean that somebody has to act.
func TestKstatus(t *testing.T) {
	found := 0
	for _, c := range rows(t) {
		t.Run(c.name, func(t *testing.T) {
			want := status.InProgressStatus
			switch {
			case c.mc.DeletionTimestamp != nil:
				want = status.TerminatingStatus
			case strings.HasPrefix(c.ready, "True "):
				want = status.CurrentStatus
			case strings.HasPrefix(c.progressing, "True "): // InProgress, whatever else is wrong
			case strings.HasPrefix(c.degraded, "True "), strings.HasPrefix(c.progressing, "False Stuck"):
				want = status.FailedStatus
			}
			if explicit, ok := kstatusOf[c.name]; ok {
				found++
				want = explicit
			}
			got, err := status.Compute(c.unstructured(t))
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != want {
				t.Errorf("kstatus is %s (%s), not %s", got.Status, got.Message, want)
			}
			reason := strings.Fields(c.ready)[1]
			if got.Status == status.FailedStatus && got.Message != reason+" see the condition Ready" {
				t.Errorf("the message of kstatus is %q", got.Message)
			}
		})
	}
	if found != len(kstatusOf) {
		t.Errorf("%d of %d names are those of rows", found, len(kstatusOf))
	}
}

// TestArgoCDHealth runs the script that docs/operations/gitops.md shows, as Argo CD does.
func TestArgoCDHealth(t *testing.T) {
	script := argoCDScript(t)
	for _, c := range rows(t) {
		t.Run(c.name, func(t *testing.T) {
			_, readyMessage, _ := strings.Cut(c.ready, ": ")
			want := "Progressing: " + readyMessage
			switch {
			case strings.HasPrefix(c.progressing, "True "):
			case strings.HasPrefix(c.degraded, "True "), strings.HasPrefix(c.progressing, "False Stuck"):
				want = "Degraded: " + readyMessage
			case strings.HasPrefix(c.progressing, "False Paused"):
				want = "Suspended" + strings.TrimPrefix(c.progressing, "False Paused")
			case strings.HasPrefix(c.ready, "True "):
				want = "Healthy: " + readyMessage
			}
			if got := argoCDHealth(t, script, c.unstructured(t).Object); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// TestHealthWithoutStatus has a Memcached without a status, and one whose status is about an earlier generation.
func TestHealthWithoutStatus(t *testing.T) {
	const want = "Progressing: The operator has not seen the spec yet"
	mc := memcachedtest.Cache(3)
	old := statusCase{mc: mc, deployment: makeDeployment(t, mc, settled), pods: makePods(3)}.unstructured(t)
	old.SetGeneration(memcachedtest.Generation + 1)
	if got, err := status.Compute(old); err != nil || got.Status != status.InProgressStatus {
		t.Errorf("kstatus: %+v, %v", got, err)
	}
	fresh := old.DeepCopy()
	delete(fresh.Object, "status")
	for _, object := range []map[string]any{old.Object, fresh.Object} {
		if got := argoCDHealth(t, argoCDScript(t), object); got != want {
			t.Error(got)
		}
	}
}

// argoCDScript returns the health script in docs/operations/gitops.md.
func argoCDScript(t *testing.T) string {
	t.Helper()
	page := docs.Parse("gitops.md", []byte(repository.Read(t, "docs", "operations", "gitops.md")))
	var settings corev1.ConfigMap
	i := slices.IndexFunc(page.Blocks, func(block docs.Block) bool { return block.Language == "yaml" })
	if i < 0 {
		t.Fatal("the page shows no ConfigMap")
	}
	if err := yaml.UnmarshalStrict([]byte(page.Blocks[i].Text), &settings); err != nil {
		t.Fatal(err)
	}
	script, ok := settings.Data["resource.customizations.health.cache.example.com_Memcached"]
	if !ok || len(settings.Data) != 1 {
		t.Fatalf("the ConfigMap has other keys: %v", settings.Data)
	}
	return script
}

// argoCDHealth runs the script with the libraries that Argo CD allows (util/lua/lua.go). It returns the status and the message.
func argoCDHealth(t *testing.T, script string, object map[string]any) string {
	t.Helper()
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			t.Fatal(err)
		}
	}
	state.SetGlobal("obj", luaValue(state, object))
	if err := state.DoString(script); err != nil {
		t.Fatal(err)
	}
	health, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the script returns a %s", state.Get(-1).Type())
	}
	return lua.LVAsString(health.RawGetString("status")) + ": " + lua.LVAsString(health.RawGetString("message"))
}

func luaValue(state *lua.LState, value any) lua.LValue {
	switch value := value.(type) {
	case bool:
		return lua.LBool(value)
	case string:
		return lua.LString(value)
	case int64:
		return lua.LNumber(value)
	case float64:
		return lua.LNumber(value)
	case []any:
		table := state.NewTable()
		for _, item := range value {
			table.Append(luaValue(state, item))
		}
		return table
	case map[string]any:
		table := state.NewTable()
		for key, item := range value {
			table.RawSetString(key, luaValue(state, item))
		}
		return table
	}
	return lua.LNil
}

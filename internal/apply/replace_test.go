// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/internal/apply/field"
)

func TestReplacement(t *testing.T) {
	rules := field.Rules{
		Exclusives: []field.Exclusive{
			{Path: []string{"spec"}, Fields: []string{"securityContext", "hostNetwork"}},
			{Path: []string{"spec", "containers"}, Fields: []string{"resources", "lifecycle"}},
		},
		NamedLists: []field.NamedList{
			{Path: []string{"spec", "containers"}, Field: "ports", Key: "containerPort", Unset: []string{"hostPort"}},
		},
	}
	const desired = `
spec:
  securityContext: {runAsNonRoot: true}
  containers:
  - name: main
    resources: {limits: {memory: 1Gi}}
    ports:
    - {name: main, containerPort: 1}
`
	for name, c := range map[string]struct{ live, want string }{
		"nothing is added": {desired, ``},
		"what is added elsewhere is theirs": {`
spec:
  nodeName: a
  securityContext: {runAsNonRoot: true}
  containers:
  - {name: sidecar, resources: {limits: {cpu: 1}}}
  - name: main
    env: [{name: A}]
    resources: {limits: {memory: 1Gi}}
    ports: [{name: theirs, containerPort: 2}, {name: main, containerPort: 1}]
`, ``},
		"a value that an apply puts right": {`
spec:
  securityContext: {runAsNonRoot: false}
  containers:
  - {name: main, resources: {limits: {memory: 2Gi}}}
`, ``},
		"something is added in several places, and a value is another one": {`
spec:
  hostNetwork: true
  securityContext: {runAsNonRoot: false, runAsUser: 0}
  containers:
  - name: main
    resources: {limits: {memory: 1Gi}, requests: {cpu: 1}}
    lifecycle: {preStop: {exec: {command: [ a ]}}}
    ports: [{name: main, containerPort: 1, hostPort: 1}]
`, `
spec:
  hostNetwork: null
  securityContext: {runAsNonRoot: true, runAsUser: null}
  containers:
  - name: main
    resources: {requests: null}
    lifecycle: null
    ports: [{containerPort: 1, hostPort: null}]
`},
		"the name of a port is that of another one": {`
spec:
  securityContext: {runAsNonRoot: true}
  containers:
  - name: main
    resources: {limits: {memory: 1Gi}}
    ports: [{name: main, containerPort: 2}]
`, `
spec:
  containers:
  - name: main
    ports: [{$patch: delete, containerPort: 2}, {name: main, containerPort: 1}]
`},
	} {
		t.Run(name, func(t *testing.T) {
			rendered := &unstructured.Unstructured{Object: parse(t, desired)}
			before := rendered.DeepCopy()
			got := replacementFor(rules, &unstructured.Unstructured{Object: parse(t, c.live)}, rendered)
			if diff := cmp.Diff(parse(t, c.want), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if diff := cmp.Diff(before, rendered); diff != "" {
				t.Errorf("what was rendered has changed:\n%s", diff)
			}
		})
	}
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

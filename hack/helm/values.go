// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	kyaml "sigs.k8s.io/kustomize/kyaml/yaml"
)

// value is a value of the chart, or a group of values.
type value struct {
	// path contains the names of the groups to which the value belongs, and its own name.
	path []string
	// meaning is the comment above the value.
	meaning string
}

// valuesIn returns all values in the text of values.yaml, in the order of the text.
func valuesIn(text []byte) ([]value, error) {
	root, err := kyaml.Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("values.yaml: %w", err)
	}
	return valuesOf(root, nil)
}

func valuesOf(node *kyaml.RNode, path []string) ([]value, error) {
	var all []value
	err := node.VisitFields(func(field *kyaml.MapNode) error {
		v := value{path: append(slices.Clip(path), field.Key.YNode().Value), meaning: words(field.Key.YNode().HeadComment)}
		members, err := membersOf(field.Value, v.path)
		all = append(append(all, v), members...)
		return err
	})
	return all, err
}

// membersOf returns the values in a group, or none if the node is not a group. A map is a group if its first field has a comment.
func membersOf(node *kyaml.RNode, path []string) ([]value, error) {
	if node.YNode().Kind != kyaml.MappingNode {
		return nil, nil
	}
	members, err := valuesOf(node, path)
	if len(members) == 0 || members[0].meaning == "" {
		return nil, err
	}
	return members, err
}

// words returns the text of a comment in one line.
func words(comment string) string {
	var all []string
	for line := range strings.Lines(comment) {
		all = append(all, strings.TrimSpace(strings.TrimLeft(line, "# ")))
	}
	return strings.Join(all, " ")
}

// describe returns the schema with the comments of values.yaml as descriptions, which editors show.
func describe(schema, values []byte) ([]byte, error) {
	all, err := valuesIn(values)
	if err != nil {
		return nil, err
	}
	root := object{}
	if err := json.Unmarshal(schema, &root); err != nil {
		return nil, fmt.Errorf("values.schema.json: %w", err)
	}
	for _, v := range all {
		described := root
		for _, name := range v.path {
			properties, _ := described["properties"].(object)
			if described, _ = properties[name].(object); described == nil {
				return nil, fmt.Errorf("values.schema.json lacks %s, which values.yaml has", strings.Join(v.path, "."))
			}
		}
		described["description"] = v.meaning
	}
	text, err := json.MarshalIndent(root, "", "  ")
	return append(text, '\n'), err
}

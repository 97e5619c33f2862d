// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"

	"sigs.k8s.io/yaml"
)

// The hand-written files of the chart. They are templates with the delimiters [[ and ]], which this command executes.
//
//go:embed all:chart
var source embed.FS

// page is the documentation of the chart. The chart's README is made from this page.
const page = "docs/operations/helm.md"

// render returns the content of the chart's files by name.
func render(r release) (map[string][]byte, error) {
	manifests, defaults, err := templates(r.root)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for name, text := range manifests {
		files[name] = []byte(text)
	}
	data, err := r.data(defaults)
	if err != nil {
		return nil, err
	}
	if err := fillAll(files, data); err != nil {
		return nil, err
	}
	if files["values.schema.json"], err = describe(files["values.schema.json"], files["values.yaml"]); err != nil {
		return nil, err
	}
	if files["LICENSE"], err = os.ReadFile(filepath.Join(r.root, "LICENSE")); err != nil {
		return nil, err
	}
	files["README.md"], err = r.readme(data["Repository"].(string))
	return files, err
}

// data returns the data for the templates in the hand-written files.
func (r release) data(defaults map[string]any) (map[string]any, error) {
	if r.image != "" {
		defaults["image"] = r.image
	}
	if r.agentImage != "" {
		defaults["agentImage"] = r.agentImage
	}
	if r.memcachedImage != "" {
		defaults["memcachedImage"] = r.memcachedImage
	}
	repository, tag, digest := split(defaults["image"].(string))
	if tag == "v"+r.version {
		tag = "" // the chart uses this tag by default
	}
	data := map[string]any{
		"Version": r.version, "Prerelease": strings.Contains(r.version, "-"), "Defaults": defaults,
		"Image": map[string]string{"Repository": repository, "Tag": tag, "Digest": digest}, "OperatorImage": defaults["image"],
	}
	for name, file := range map[string]string{
		"CSV":    "config/manifests/bases/memcached-operator.clusterserviceversion.yaml",
		"CRD":    "config/crd/bases/cache.example.com_memcacheds.yaml",
		"Sample": "config/samples/cache_v1alpha1_memcached.yaml",
	} {
		text, err := os.ReadFile(filepath.Join(r.root, file))
		if err != nil {
			return nil, err
		}
		// Links in config name the version v0.0.0. In the chart, as in the bundle, they must name the version of the release.
		content := object{}
		if err := yaml.Unmarshal([]byte(strings.ReplaceAll(string(text), "/v0.0.0", "/v"+r.version)), &content); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		data[name] = content
	}
	data["Repository"] = data["CSV"].(object)["metadata"].(object)["annotations"].(object)["repository"]
	return data, nil
}

func split(image string) (repository, tag, digest string) {
	repository, digest, _ = strings.Cut(image, "@")
	// A colon before the last slash belongs to a port.
	if colon := strings.LastIndex(repository, ":"); colon > strings.LastIndex(repository, "/") {
		repository, tag = repository[:colon], repository[colon+1:]
	}
	return repository, tag, digest
}

// fillAll executes the hand-written files as templates, and adds the results to files.
func fillAll(files map[string][]byte, data map[string]any) error {
	return fs.WalkDir(source, "chart", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := source.ReadFile(path)
		if err != nil {
			return err
		}
		name := strings.TrimPrefix(path, "chart/")
		files[name], err = fill(name, text, data)
		return err
	})
}

func fill(name string, text []byte, data map[string]any) ([]byte, error) {
	parsed, err := template.New(name).Delims("[[", "]]").Option("missingkey=error").Funcs(template.FuncMap{
		"yaml": indented, "json": inJSON, "replace": strings.ReplaceAll,
	}).Parse(string(text))
	if err != nil {
		return nil, err
	}
	var filled bytes.Buffer
	err = parsed.Execute(&filled, data)
	return filled.Bytes(), err
}

// indented returns a value as YAML, with all lines indented by this number of spaces.
func indented(indent int, value any) (string, error) {
	text, err := yaml.Marshal(value)
	margin := strings.Repeat(" ", indent)
	return margin + strings.ReplaceAll(strings.TrimSuffix(string(text), "\n"), "\n", "\n"+margin), err
}

func inJSON(value any) (string, error) {
	text, err := json.Marshal(value)
	return string(text), err
}

var (
	// link matches the target of a Markdown link to another file of the repository.
	link = regexp.MustCompile(`\]\(([^):#]+)(#[^)]*)?\)`)
	// comment matches a line that is an HTML comment.
	comment = regexp.MustCompile(`(?m)^ *<!-- .* -->\n`)
)

// readme returns the chart's README: the page, without comments. Relative links to files of the repository become absolute URLs.
func (r release) readme(repository string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(page)))
	if err != nil {
		return nil, err
	}
	text = comment.ReplaceAll(text, nil)
	return link.ReplaceAllFunc(text, func(found []byte) []byte {
		parts := link.FindSubmatch(found)
		target := path.Join(path.Dir(page), string(parts[1]))
		return fmt.Appendf(nil, "](%s/blob/v%s/%s%s)", repository, r.version, target, parts[2])
	}), nil
}

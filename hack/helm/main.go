// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// The command helm writes the Helm chart of the operator from the kustomizations in config. It builds the manifests of the complete
// installation, and of one variant for each value of the chart that can disable a part. It turns the differences into conditions of
// templates. Fields that differ between Helm releases, such as the namespace, become expressions. The defaults of the values come from
// config. Other files of the chart, such as values.yaml, are in the folder chart.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "helm:", err)
		os.Exit(1)
	}
}

// release describes the release of the operator for which to write a chart.
type release struct {
	// root is the folder of the repository.
	root string
	// version is the version of the operator and of the chart, without a leading v.
	version string
	// image, agentImage and memcachedImage replace the images in config. Empty ones replace nothing.
	image, agentImage, memcachedImage string
}

func run(args []string) error {
	flags := flag.NewFlagSet("helm", flag.ContinueOnError)
	var r release
	flags.StringVar(&r.root, "root", ".", "the folder of the repository")
	flags.StringVar(&r.version, "version", "", "the version of the chart, without a leading v")
	flags.StringVar(&r.image, "image", "", "the image of the operator, instead of the one in config")
	flags.StringVar(&r.agentImage, "agent-image", "", "the image of the agents, instead of the one in config")
	flags.StringVar(&r.memcachedImage, "memcached-image", "", "the default image of memcached, instead of the one in config")
	output := flags.String("output", "", "the folder to write the chart to; a chart in it is replaced")
	if err := flags.Parse(args); err != nil {
		return err
	}
	files, err := render(r)
	if err != nil {
		return err
	}
	return write(*output, files)
}

// write writes the files to a folder, in place of the chart that the folder may contain.
func write(folder string, files map[string][]byte) error {
	if err := removeChart(folder); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // public content
			return err
		}
		if err := os.WriteFile(path, files[name], 0o644); err != nil { //nolint:gosec // public content
			return err
		}
	}
	return nil
}

// removeChart removes a folder that contains a chart. It returns an error if the folder contains files, but no chart.
func removeChart(folder string) error {
	entries, err := os.ReadDir(folder)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(entries) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(folder, "Chart.yaml")); err != nil {
		return fmt.Errorf("%s contains files, but no chart that could be replaced: choose another folder", folder)
	}
	return os.RemoveAll(folder)
}

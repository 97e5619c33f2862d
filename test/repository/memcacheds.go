// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package repository

import (
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
)

// fewest is a lower limit for the number of golden files and samples. If the function Memcacheds finds fewer, one of its patterns is
// wrong.
const fewest = 15

// Memcacheds returns the Memcacheds in the inputs of the golden files of package desired, and in the files of config/samples. The
// name of each is the name of its file.
func Memcacheds() ([]cachev1alpha1.Memcached, error) {
	var all []cachev1alpha1.Memcached
	for _, pattern := range []string{
		"internal/memcached/desired/testdata/*.input.yaml",
		"config/samples/cache_v1alpha1_memcached[._]*yaml",
		"config/samples/*/cache_v1alpha1_memcached_*.yaml",
	} {
		files, err := filepath.Glob(Path(pattern))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			var mc cachev1alpha1.Memcached
			if err := yaml.UnmarshalStrict(text, &mc); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			mc.Name = filepath.Base(file)
			all = append(all, mc)
		}
	}
	if len(all) < fewest {
		return nil, fmt.Errorf("there are only %d golden files and samples", len(all))
	}
	return all, nil
}

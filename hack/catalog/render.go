// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/template"

	"github.com/operator-framework/operator-registry/alpha/action"
	"github.com/operator-framework/operator-registry/alpha/action/migrations"
	"github.com/operator-framework/operator-registry/alpha/declcfg"
	"github.com/operator-framework/operator-registry/alpha/template/semver"
	"github.com/operator-framework/operator-registry/pkg/lib/bundle"
	"sigs.k8s.io/yaml"
)

// findBundles maps the version of each folder's bundle to the folder.
func findBundles(folders []string) (map[string]string, error) {
	bundles := map[string]string{}
	for _, folder := range folders {
		version, err := versionOf(folder)
		if err != nil {
			return nil, err
		}
		if other, ok := bundles[version]; ok {
			return nil, fmt.Errorf("%s and %s are both of version %s: remove one, or raise VERSION", other, folder, version)
		}
		bundles[version] = folder
	}
	return bundles, nil
}

// versionOf returns the version of the bundle in a folder. The version is in the ClusterServiceVersion.
func versionOf(folder string) (string, error) {
	file := folder + "/" + bundle.ManifestsDir + "memcached-operator.clusterserviceversion.yaml"
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%s is not a bundle: %w", folder, err)
	}
	var csv struct {
		Spec struct {
			Version string `json:"version"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(text, &csv); err != nil {
		return "", fmt.Errorf("read %s: %w", file, err)
	}
	return csv.Spec.Version, nil
}

// render renders the semver template in a file. If the argument repository is not empty, the images get this repository instead of the
// one in the template. bundles maps versions to the folders of their bundles.
func render(ctx context.Context, file, repository string, bundles map[string]string) (*declcfg.DeclarativeConfig, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	// The catalog has metadata of each ClusterServiceVersion instead of the manifests, because current versions of OLM read only the
	// metadata.
	migrate, err := migrations.NewMigrations("bundle-object-to-csv-metadata")
	if err != nil {
		return nil, err
	}
	factory := semver.Factory{}
	return factory.CreateTemplate(func(ctx context.Context, image string) (*declcfg.DeclarativeConfig, error) {
		named, version, _ := strings.Cut(image, ":v")
		version, digest, pinned := strings.Cut(version, "@")
		folder, ok := bundles[version]
		if !ok {
			return nil, fmt.Errorf("there is no bundle of the version of %s, only of %q: add its folder, or correct the template",
				image, slices.Sorted(maps.Keys(bundles)))
		}
		if repository != "" {
			named = repository
		}
		if pinned { // without the tag, because some tools refuse a reference with both a tag and a digest
			return renderBundle(ctx, folder, named+"@"+digest, migrate)
		}
		return renderBundle(ctx, folder, named+":v"+version, migrate)
	}).Render(ctx, bytes.NewReader(text))
}

// renderBundle renders the bundle in a folder as opm renders the image that is built from this folder.
func renderBundle(ctx context.Context, folder, image string, migrate *migrations.Migrations) (*declcfg.DeclarativeConfig, error) {
	name, err := template.New("image").Parse(image)
	if err != nil {
		return nil, err
	}
	return action.Render{
		Refs: []string{folder}, AllowedRefMask: action.RefBundleDir, ImageRefTemplate: name, Migrations: migrate,
	}.Run(ctx)
}

// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package bundle_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/example/memcached-operator/test/repository"
)

const digest = "@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// Scripts in place of kustomize and operator-sdk, so that these tests need neither. "make verify" runs the real commands. Like the real
// "operator-sdk generate bundle", its stand-in leaves an incomplete bundle if it fails.
const (
	kustomizeStandIn = `#!/bin/sh
[ "$1" != build ] || [ "$KUSTOMIZE_FAILS" ] || echo "kind: List"
[ "$1" != build ] || [ -z "$KUSTOMIZE_FAILS" ] || { echo "Error: accumulating resources: no such file" >&2; exit 1; }
`
	sdkStandIn = `#!/bin/sh
case "$*" in
"generate kustomize"*) ;;
"generate bundle"*)
	cat >/dev/null
	mkdir -p bundle/manifests
	case "$*" in
	*--use-image-digests*)
		[ "$REGISTRY_DIGEST" ] || { echo 'level=fatal msg="error resolving image: connection refused"' >&2; exit 1; }
		printf -- '  image: %s%s\n- name: RELATED_IMAGE_MEMCACHED_AGENT\n  value: %s%s\n- name: RELATED_IMAGE_MEMCACHED\n  value: %s%s\n' \
			"$IMG" "$REGISTRY_DIGEST" "$AGENT_IMG" "$REGISTRY_DIGEST" "$MEMCACHED_IMAGE" "$REGISTRY_DIGEST" >bundle/manifests/memcached-operator.clusterserviceversion.yaml
		exit ;;
	*--broken*) echo "Error: unknown flag: --broken" >&2; exit 1 ;;
	esac
	printf '    containerImage: %s\n    createdAt: "now"\n  - image: %s\n' "$IMG" "$MEMCACHED_IMAGE" \
		>bundle/manifests/memcached-operator.clusterserviceversion.yaml
	mkdir -p bundle/metadata
	echo "annotations:" >bundle/metadata/annotations.yaml
	printf 'FROM scratch\n\n# Copy files to locations specified by labels.\n' >bundle.Dockerfile
	;;
"bundle validate"*) [ "$MEMCACHED_IMAGE" != bad ] || { echo 'level=error msg="it is bad"' >&2; exit 1; } ;;
esac
`
)

// generation is the result of a run of hack/bundle/bundle.sh with the stand-ins, in a folder with an old bundle.
type generation struct {
	folder string
	output string
	code   int
}

// generate runs hack/bundle/bundle.sh with correct environment variables. Each NAME=value in variables overrides one of them.
func generate(t *testing.T, variables ...string) generation {
	t.Helper()
	folder := t.TempDir()
	for name, content := range map[string]string{"kustomize": kustomizeStandIn, "operator-sdk": sdkStandIn} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(folder, "bundle"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "bundle", "old"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(repository.Path("hack", "bundle", "bundle.sh"))
	command.Env = append(os.Environ(), "VERSION=1.2.3", "IMG=example.com/operator:v1.2.3", "AGENT_IMG=example.com/operator-agent:v1.2.3",
		"MEMCACHED_IMAGE=example.com/memcached:1",
		"SCORECARD_IMG=example.com/scorecard:v1.2.3", "CHANNELS=candidate-v1,stable-v1", "DEFAULT_CHANNEL=stable-v1",
		"USE_IMAGE_DIGESTS=false", "OPENSHIFT_VERSIONS=v4.17", "BUNDLE_GEN_FLAGS=", "BUNDLE_DIR="+filepath.Join(folder, "bundle"),
		"KUSTOMIZE="+filepath.Join(folder, "kustomize"), "OPERATOR_SDK="+filepath.Join(folder, "operator-sdk"))
	command.Env = append(command.Env, variables...)
	output, err := command.CombinedOutput()
	result := generation{folder: folder, output: strings.TrimSpace(string(output))}
	if exit := new(exec.ExitError); errors.As(err, &exit) {
		result.code = exit.ExitCode()
	} else if err != nil {
		t.Fatal(err)
	}
	return result
}

// bundles returns the paths of all files in the folder except the stand-ins, separated by spaces.
func (g generation) bundles(t *testing.T) string {
	t.Helper()
	var found []string
	err := filepath.WalkDir(g.folder, func(path string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && entry.Name() != "kustomize" && entry.Name() != "operator-sdk" {
			found = append(found, strings.TrimPrefix(path, g.folder+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(found, " ")
}

func TestBadInputIsRefusedInOneSentence(t *testing.T) {
	tests := map[string]struct {
		variables []string
		want      string
	}{
		"no version":            {[]string{"VERSION="}, "VERSION is '', but must be a semantic version"},
		"a leading v":           {[]string{"VERSION=v1.2.3"}, "VERSION is 'v1.2.3', but must be a semantic version"},
		"two numbers":           {[]string{"VERSION=1.2"}, "VERSION is '1.2', but must be a semantic version"},
		"a leading zero":        {[]string{"VERSION=1.02.3"}, "VERSION is '1.02.3', but must be a semantic version"},
		"build metadata":        {[]string{"VERSION=1.2.3+4"}, "VERSION is '1.2.3+4', but must be a semantic version"},
		"no image":              {[]string{"IMG="}, "IMG is '', but must name an image"},
		"an image with a space": {[]string{"IMG=a b"}, "IMG is 'a b', but must name an image"},
		"half a digest":         {[]string{"MEMCACHED_IMAGE=m@sha256:12"}, "MEMCACHED_IMAGE is 'm@sha256:12', but must name an image"},
		"a channel with space":  {[]string{"CHANNELS=a b"}, "CHANNELS is 'a b', but must be names separated by commas"},
		"another default":       {[]string{"DEFAULT_CHANNEL=beta"}, "DEFAULT_CHANNEL is 'beta', but must be one of CHANNELS"},
		"neither true or false": {[]string{"USE_IMAGE_DIGESTS=yes"}, "USE_IMAGE_DIGESTS is 'yes', but must be true or false"},
		"no OpenShift version":  {[]string{"OPENSHIFT_VERSIONS=4.17"}, "OPENSHIFT_VERSIONS is '4.17', but must be an OpenShift version or a range"},
		"no folder":             {[]string{"BUNDLE_DIR=/does/not/exist"}, "/does/not is not a folder"},
		"no kustomize":          {[]string{"KUSTOMIZE=/does/not/exist"}, "/does/not/exist is missing: make kustomize operator-sdk"},
		"no operator-sdk":       {[]string{"OPERATOR_SDK=/does/not/exist"}, "/does/not/exist is missing: make kustomize operator-sdk"},
		"an unknown flag":       {[]string{"BUNDLE_GEN_FLAGS=--broken"}, "fix what kustomize or operator-sdk names: unknown flag: --broken"},
		"a broken config":       {[]string{"KUSTOMIZE_FAILS=yes"}, "fix what kustomize or operator-sdk names: accumulating resources: no such file"},
		"a registry that does not answer": {
			[]string{"USE_IMAGE_DIGESTS=true"}, "cannot be looked up; push the images to a registry that this machine reaches",
		},
		"a registry that does not answer for one of two": {
			[]string{"USE_IMAGE_DIGESTS=true", "IMG=example.com/operator" + digest}, "(error resolving image: connection refused)",
		},
		"a registry that has only one of two": {
			[]string{"USE_IMAGE_DIGESTS=true", "REGISTRY_DIGEST=:tag"}, "An image has no digest although USE_IMAGE_DIGESTS is true",
		},
		"a bundle that is not valid": {[]string{"MEMCACHED_IMAGE=bad"}, "The bundle is not valid, fix what operator-sdk names: it is bad"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := generate(t, test.variables...)
			if got.code != 2 || !strings.Contains(got.output, test.want) || strings.Contains(got.output, "\n") {
				t.Errorf("exit code %d, output %q; want 2 and one line with %q", got.code, got.output, test.want)
			}
			if left := got.bundles(t); left != "bundle/old" {
				t.Errorf("the bundle was touched: %s", left)
			}
		})
	}
}

func TestTheNewBundleReplacesTheOldOne(t *testing.T) {
	got := generate(t)
	want := "bundle/manifests/memcached-operator.clusterserviceversion.yaml bundle/metadata/annotations.yaml bundle.Dockerfile"
	if got.code != 0 || got.bundles(t) != want {
		t.Fatalf("exit code %d, output %q, files %q, want %q", got.code, got.output, got.bundles(t), want)
	}
}

// By default, generate names the images by tag. So with USE_IMAGE_DIGESTS, the digests must come from the registry.
func TestDigestsComeFromTheRegistry(t *testing.T) {
	got := generate(t, "USE_IMAGE_DIGESTS=true", "REGISTRY_DIGEST="+digest)
	if got.code != 0 {
		t.Fatalf("exit code %d, output %q", got.code, got.output)
	}
	csv := repository.ReadFile(t, filepath.Join(got.folder, "bundle", "manifests", "memcached-operator.clusterserviceversion.yaml"))
	for _, line := range []string{
		"containerImage: example.com/operator:v1.2.3" + digest, "image: example.com/memcached:1" + digest, `createdAt: "2`,
	} {
		if !strings.Contains(csv, line) {
			t.Errorf("the bundle has no line %q:\n%s", line, csv)
		}
	}
}

func TestImagesWithDigestsNeedNoRegistry(t *testing.T) {
	got := generate(t, "USE_IMAGE_DIGESTS=true", "IMG=example.com/operator"+digest, "AGENT_IMG=example.com/operator-agent"+digest,
		"MEMCACHED_IMAGE=example.com/memcached"+digest)
	if got.code != 0 {
		t.Errorf("exit code %d, output %q", got.code, got.output)
	}
}

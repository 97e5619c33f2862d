// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// registry is the folder of an OCI image layout, to which hack/cluster/buildah.sh pushes. It serves the images as a registry does, to clients
// that pull. It stands in for every other registry: an image that it lacks does not exist.
type registry string

// imageManifest is an entry in the index of an image layout.
type imageManifest struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Annotations map[string]string `json:"annotations"`
}

// startRegistry serves the images. When it returns, clients can connect.
func (b *booting) startRegistry() error {
	listener, err := net.Listen("tcp", ":5000")
	if err != nil {
		return err
	}
	images := &http.Server{Handler: registry(filepath.Join(b.root, "bin", "images", "registry")), ReadHeaderTimeout: time.Minute}
	go func() { b.failed <- images.ServeTLS(listener, b.file("registry.crt"), b.file("registry.key")) }()
	return nil
}

// ServeHTTP answers requests for /v2/, /v2/NAME/manifests/REFERENCE and /v2/NAME/blobs/DIGEST.
func (r registry) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	resource, reference := path.Split(strings.TrimPrefix(request.URL.Path, "/v2/"))
	name, kind := path.Split(strings.TrimSuffix(resource, "/"))
	mediaType := "application/octet-stream"
	switch kind {
	case "": // the client asks whether this is a registry
		return
	case "manifests":
		found, err := r.find(strings.TrimSuffix(name, "/"), reference)
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		reference, mediaType = found.Digest, found.MediaType
	}
	w.Header().Set("Docker-Content-Digest", reference)
	w.Header().Set("Content-Type", mediaType)
	http.ServeFile(w, request, filepath.Join(string(r), "blobs", strings.Replace(reference, ":", "/", 1)))
}

// find returns the manifest of an image, by its tag or digest.
func (r registry) find(name, reference string) (*imageManifest, error) {
	content, err := os.ReadFile(filepath.Join(string(r), "index.json"))
	if err != nil {
		return nil, err
	}
	var index struct {
		Manifests []imageManifest `json:"manifests"`
	}
	if err := json.Unmarshal(content, &index); err != nil {
		return nil, err
	}
	for _, m := range index.Manifests {
		if m.Digest == reference || m.Annotations["org.opencontainers.image.ref.name"] == name+":"+reference {
			return &m, nil
		}
	}
	return nil, fmt.Errorf("there is no image %s:%s", name, reference)
}

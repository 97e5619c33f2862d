// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// registry is the folder of an OCI image layout, to which hack/cluster/buildah.sh pushes. It serves the images to clients that pull, and
// stands in for every other registry: an image that it lacks does not exist.
type registry string

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
		reference, mediaType = r.find(strings.TrimSuffix(name, "/")+":"+reference, reference)
	}
	w.Header().Set("Docker-Content-Digest", reference)
	w.Header().Set("Content-Type", mediaType)
	http.ServeFile(w, request, filepath.Join(string(r), "blobs", strings.Replace(reference, ":", "/", 1)))
}

// find returns the digest and the type of the manifest with this name or digest. If there is none, the digest names no file.
func (r registry) find(name, digest string) (found, mediaType string) {
	var index struct {
		Manifests []struct {
			MediaType, Digest string
			Annotations       map[string]string
		}
	}
	if content, err := os.ReadFile(filepath.Join(string(r), "index.json")); err != nil || json.Unmarshal(content, &index) != nil {
		return "none", ""
	}
	for _, m := range index.Manifests {
		if m.Digest == digest || m.Annotations["org.opencontainers.image.ref.name"] == name {
			return m.Digest, m.MediaType
		}
	}
	return "none", ""
}

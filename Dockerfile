# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

# The second has certificates and a user, but no shell and no package manager: all that a static binary needs.
ARG BUILD_IMAGE=docker.io/library/golang:1.26.8
ARG BASE_IMAGE=gcr.io/distroless/static:nonroot

# Go cross-compiles: the compiler runs on the platform of the builder and is never emulated. docker (BuildKit), podman and buildah
# set BUILDPLATFORM, TARGETOS and TARGETARCH.
FROM --platform=$BUILDPLATFORM ${BUILD_IMAGE} AS build
WORKDIR /workspace

# Modules change less often than code: this layer stays cached until go.mod changes.
COPY go.mod go.sum ./
RUN go mod download

COPY main.go ./
COPY api/ api/
COPY cmd/ cmd/
COPY controllers/ controllers/
COPY internal/ internal/
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=0.0.0
RUN export CGO_ENABLED=0 GOOS=${TARGETOS:-linux} GOARCH=${TARGETARCH} flags="-s -w -X main.version=v${VERSION}" && \
    go build -trimpath -ldflags "$flags" -o manager . && \
    go build -trimpath -ldflags "$flags" -o agent ./cmd/agent
# The licenses of everything that is linked into each binary.
COPY LICENSE ./
COPY hack/licenses.sh hack/
RUN export CGO_ENABLED=0 && \
    hack/licenses.sh . licenses && \
    hack/licenses.sh ./cmd/agent licenses-agent

FROM ${BASE_IMAGE} AS base
ARG VERSION=0.0.0
# The commit. It has no default, because images for tests are not built from one.
ARG REVISION
# The first group is the OCI's, the others are what OpenShift shows and its certification demands.
LABEL org.opencontainers.image.version="v${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.vendor="The Memcached Operator Authors" \
      org.opencontainers.image.source="https://github.com/example/memcached-operator" \
      org.opencontainers.image.documentation="https://github.com/example/memcached-operator/tree/v${VERSION}/docs" \
      vendor="The Memcached Operator Authors" \
      maintainer="maintainers@example.com" \
      version="v${VERSION}" \
      release="1" \
      io.openshift.tags="memcached,cache,operator"
COPY LICENSE /licenses/LICENSE
# The numeric ID of the user nonroot, so that the kubelet can verify runAsNonRoot.
USER 65532:65532

# What starts memcached in the pods, and what runs beside it, in an image of its own, because each cluster node with such a pod pulls it.
FROM base AS agent
LABEL org.opencontainers.image.title="Memcached Operator Agent" \
      org.opencontainers.image.description="Starts, observes and configures a memcached from within its pod" \
      name="memcached-operator-agent" \
      summary="Starts, observes and configures a memcached from within its pod" \
      description="Starts a memcached again in its pod when its arguments change, serves its metrics, and hands it certificates and users while it runs" \
      io.k8s.display-name="Memcached Operator Agent" \
      io.k8s.description="Starts a memcached again in its pod when its arguments change, serves its metrics, and hands it certificates and users while it runs"
COPY --from=build /workspace/licenses-agent /licenses
COPY --from=build /workspace/agent /agent
ENTRYPOINT ["/agent"]

FROM base AS operator
LABEL org.opencontainers.image.title="Memcached Operator" \
      org.opencontainers.image.description="Runs memcached caches on Kubernetes" \
      name="memcached-operator" \
      summary="Runs memcached caches on Kubernetes" \
      description="Runs memcached caches that are sized, spread, hardened and updated node by node" \
      io.k8s.display-name="Memcached Operator" \
      io.k8s.description="Runs memcached caches that are sized, spread, hardened and updated node by node"
COPY --from=build /workspace/licenses /licenses
COPY --from=build /workspace/manager /manager
ENTRYPOINT ["/manager"]

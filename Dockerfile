# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

# Go cross-compiles: the compiler runs on the platform of the builder and is never emulated. BUILDPLATFORM, TARGETOS and
# TARGETARCH are set by docker (BuildKit), podman and buildah.
FROM --platform=$BUILDPLATFORM docker.io/library/golang:1.26 AS build
WORKDIR /workspace

# Modules change less often than code: this layer stays cached until go.mod changes.
COPY go.mod go.sum ./
RUN go mod download

COPY main.go ./
COPY api/ api/
COPY controllers/ controllers/
COPY internal/ internal/
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=0.0.0
RUN CGO_ENABLED=0 GOOS=${TARGETOS:-linux} GOARCH=${TARGETARCH} \
    go build -trimpath -ldflags "-s -w -X main.version=v${VERSION}" -o manager .

# No shell, no package manager, certificates and a user: all that a static binary needs.
FROM gcr.io/distroless/static:nonroot
COPY --from=build /workspace/manager /manager
# The number of the user nonroot, so that the kubelet can prove runAsNonRoot.
USER 65532:65532
ENTRYPOINT ["/manager"]

# SPDX-FileCopyrightText: The Memcached Operator Authors
# SPDX-License-Identifier: Apache-2.0

# Go cross-compiles: the compiler runs on the platform of the builder and is never emulated. docker (BuildKit), podman and buildah
# set BUILDPLATFORM, TARGETOS and TARGETARCH.
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

# Certificates and a user, but no shell and no package manager: all that a static binary needs.
FROM gcr.io/distroless/static:nonroot
COPY --from=build /workspace/manager /manager
# The numeric ID of the user nonroot, so that the kubelet can verify runAsNonRoot.
USER 65532:65532
ENTRYPOINT ["/manager"]

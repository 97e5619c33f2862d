// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the Memcached API of the group cache.example.com.
//
// The comments on the types are the documentation that users read with kubectl explain and in docs/api.md; the markers
// become the schema of the CustomResourceDefinition. Whatever the API server can know is refused there, with a message
// that names the field and the fix.
//
// +kubebuilder:object:generate=true
// +groupName=cache.example.com
package v1alpha1

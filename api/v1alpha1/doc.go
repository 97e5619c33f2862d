// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the Memcached API of the group cache.example.com.
//
// Users read the comments on the types with kubectl explain and in docs/api.md. The markers become the schema of the
// CustomResourceDefinition. The API server refuses whatever it can check itself, with a message that names the field and the fix.
//
// +kubebuilder:object:generate=true
// +groupName=cache.example.com
package v1alpha1

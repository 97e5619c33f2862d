// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"bytes"
	"context"
	"fmt"
	"os"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// Permit creates the ClusterRole in a file and binds it to the subject.
func Permit(ctx context.Context, c client.Client, file string, subject rbacv1.Subject) error {
	role := &rbacv1.ClusterRole{}
	if err := read(file, role); err != nil {
		return err
	}
	if err := c.Create(ctx, role); err != nil {
		return err
	}
	return c.Create(ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{subject},
	})
}

// PermitIn is like Permit, but creates a Role and its binding in the namespace.
func PermitIn(ctx context.Context, c client.Client, namespace, file string, subject rbacv1.Subject) error {
	role := &rbacv1.Role{}
	if err := read(file, role); err != nil {
		return err
	}
	role.Namespace = namespace
	if err := c.Create(ctx, role); err != nil {
		return err
	}
	return c.Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role.Name},
		Subjects:   []rbacv1.Subject{subject},
	})
}

// read decodes the last YAML document of a file into the object, and fails on unknown fields.
func read(file string, object client.Object) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	documents := bytes.Split(content, []byte("\n---\n"))
	if err := yaml.UnmarshalStrict(documents[len(documents)-1], object); err != nil {
		return fmt.Errorf("reading %s: %w", file, err)
	}
	return nil
}

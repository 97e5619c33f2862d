// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/example/memcached-operator/test/await"
)

const establishDeadline = time.Minute

var errNotEstablished = fmt.Errorf("not established within %s", establishDeadline)

// InstallCRD creates the CustomResourceDefinition in a file and waits until the API server serves the new kind.
func InstallCRD(ctx context.Context, c client.WithWatch, file string) error {
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := create(ctx, c, file, definition); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, establishDeadline, errNotEstablished)
	defer cancel()
	established := func(ctx context.Context) (string, error) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(definition), definition); err != nil {
			return "", err
		}
		if !apihelpers.IsCRDConditionTrue(definition, apiextensionsv1.Established) {
			return "the CRD is not established", nil
		}
		return "", nil
	}
	return await.Until(ctx, c, established, []client.ObjectList{&apiextensionsv1.CustomResourceDefinitionList{}})
}

// Permit creates the ClusterRole in a file and binds it to the subject.
func Permit(ctx context.Context, c client.Client, file string, subject rbacv1.Subject) error {
	role := &rbacv1.ClusterRole{}
	if err := create(ctx, c, file, role); err != nil {
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

func create(ctx context.Context, c client.Client, file string, object client.Object) error {
	if err := read(file, object); err != nil {
		return err
	}
	if err := c.Create(ctx, object); err != nil {
		return fmt.Errorf("creating %s: %w", file, err)
	}
	return nil
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

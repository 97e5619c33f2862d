// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cachev1alpha1 "github.com/example/memcached-operator/api/v1alpha1"
	"github.com/example/memcached-operator/internal/memcache"
)

// login is a user of memcached.
type login struct{ user, password string }

func (s *session) bindUser(command *cobra.Command) {
	command.Flags().StringVar(&s.user, "user", "",
		"Log in as this user of spec.auth, with the password in its Secret, or one that you type if you may not read it")
}

// loginFor returns the login that --user selects, or nil without --user.
func (s *session) loginFor(ctx context.Context, c *cluster, mc *cachev1alpha1.Memcached) (*login, error) {
	if s.user == "" {
		return nil, nil //nolint:nilnil // without --user, there is no login
	}
	if mc.Spec.Auth == nil {
		return nil, fmt.Errorf("%s/%s has no users: leave out --user, or set spec.auth", mc.Namespace, mc.Name)
	}
	var secret corev1.Secret
	name := mc.Spec.Auth.SecretName
	if err := c.Get(ctx, client.ObjectKey{Namespace: mc.Namespace, Name: name}, &secret); err != nil {
		return s.askPassword(err)
	}
	users := usersOf(secret.Data)
	password, found := users[s.user]
	if !found {
		return nil, fmt.Errorf("the Secret %s has no user %s, but %s", name, s.user,
			strings.Join(slices.Sorted(maps.Keys(users)), ", "))
	}
	return &login{s.user, string(password)}, nil
}

// usersOf returns the passwords in a Secret by user. If the agent accepts the Secret, the agent reads the same users from it.
func usersOf(data map[string][]byte) map[string][]byte {
	name, hasName := data[corev1.BasicAuthUsernameKey]
	password, hasPassword := data[corev1.BasicAuthPasswordKey]
	if hasName && hasPassword && len(data) == 2 {
		return map[string][]byte{string(name): password}
	}
	return data
}

// askPassword asks the user for the password, because the Secret cannot be read.
func (s *session) askPassword(because error) (*login, error) {
	if s.readPassword == nil {
		return nil, fmt.Errorf("no password: %w. On a terminal you could type it", because)
	}
	fmt.Fprintf(s.ErrOut, "%s\nPassword of %s: ", because, s.user)
	password, err := s.readPassword()
	fmt.Fprintln(s.ErrOut)
	return &login{s.user, password}, err
}

// terminalPassword returns a function that reads a password without showing it, or nil if the input is not a terminal.
func terminalPassword(in any) func() (string, error) {
	file, isFile := in.(*os.File)
	if !isFile || !isTerminal(file) {
		return nil
	}
	return func() (string, error) {
		password, err := term.ReadPassword(int(file.Fd()))
		return string(password), err
	}
}

// logIn logs in if memcached demands it. A memcached without users would store the password as a value.
func (l *login) logIn(ctx context.Context, conn *memcache.Conn) error {
	if l == nil {
		return nil
	}
	demanded, err := conn.DemandsLogin(ctx)
	if err != nil || !demanded {
		return err
	}
	accepted, err := conn.LogIn(ctx, l.user, l.password)
	if err == nil && !accepted {
		err = &deniedError{l.user}
	}
	return err
}

type deniedError struct{ user string }

func (e *deniedError) Error() string {
	return "memcached refuses the user " + e.user + " with this password: it may not have read the Secret yet, see kubectl memcached status"
}

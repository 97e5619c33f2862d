// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// usersFile is the name of the file from which memcached reads its users.
const usersFile = "users"

// Limits of memcached: the number of users, and the length of a user's line in bytes. memcached ignores further users, and splits
// longer lines.
const (
	maxUsers    = 8
	maxUserLine = 254
)

// User is a user of memcached. Neither fmt nor a log shows the password.
type User struct{ name, password string }

// String implements fmt.Stringer.
func (u User) String() string { return u.name }

// GoString implements fmt.GoStringer.
func (u User) GoString() string { return u.name }

func (u User) line() string { return u.name + ":" + u.password }

// Keys of a Secret of the type kubernetes.io/basic-auth, which contains one user.
const (
	usernameKey = "username"
	passwordKey = "password"
)

// parseUsers returns the users of a Secret, sorted by name.
func parseUsers(secret map[string][]byte) ([]User, error) {
	has := func(key string) bool { _, found := secret[key]; return found }
	switch count := len(secret); {
	case has(usernameKey) && has(passwordKey):
		return parseBasicAuth(secret)
	case (has(usernameKey) || has("user")) && (has(passwordKey) || has("pass")):
		return nil, invalidUsers("the Secret of spec.auth.secretName has keys such as user and pass, which would be the names of two users: " +
			"call them username and password, or store each user as a key whose value is the password")
	case count == 0:
		return nil, invalidUsers("the Secret of spec.auth.secretName does not exist or has no keys: create it with each user as a key " +
			"whose value is the password")
	case count > maxUsers:
		return nil, invalidUsers(fmt.Sprintf("the Secret of spec.auth.secretName has %d keys, but memcached admits %d users: remove some",
			count, maxUsers))
	}
	var users []User
	for _, name := range slices.Sorted(maps.Keys(secret)) {
		user := User{name: name, password: string(secret[name])}
		if err := user.validate(fmt.Sprintf("the key %+q", name), "the user "+name); err != nil {
			return nil, err
		}
		users = append(users, user)
	}
	return users, nil
}

// parseBasicAuth returns the user of a Secret with the keys username and password. It returns an error if the Secret has more keys,
// because it is then probably the Secret of a database: Helm charts and the operators of databases write such Secrets.
func parseBasicAuth(secret map[string][]byte) ([]User, error) {
	if len(secret) > 2 {
		others := slices.DeleteFunc(slices.Sorted(maps.Keys(secret)), func(key string) bool { return key == usernameKey || key == passwordKey })
		return nil, invalidUsers(fmt.Sprintf("the Secret of spec.auth.secretName has %s beside username and password, as that of a database: "+
			"name a Secret with these two keys, or with each user as a key whose value is the password", strings.Join(others, ", ")))
	}
	user := User{name: string(secret[usernameKey]), password: string(secret[passwordKey])}
	return []User{user}, user.validate("the value of the key username", "the user that the key username names")
}

// validate returns an error if memcached cannot use this user. The error contains the arguments name and user instead of u.name,
// because u.name may be a value of the Secret.
func (u User) validate(name, user string) error {
	switch {
	case u.name == "" || strings.ContainsFunc(u.name, func(r rune) bool { return r <= ' ' || r > '~' || r == ':' }):
		return invalidUsers(name + " is not a valid user name: use letters, digits, '-', '_' and '.'")
	case u.password == "":
		return invalidUsers("the password of " + user + " is empty: set one, or remove the key")
	case strings.ContainsAny(u.password, "\r\n"):
		return invalidUsers("the password of " + user + " contains a line break, perhaps at its end: store it without, for " +
			"example with kubectl create secret generic --from-literal")
	case strings.Contains(u.password, "\x00"):
		return invalidUsers("the password of " + user + " contains a zero byte: choose another one")
	case len(u.line()) > maxUserLine:
		return invalidUsers(fmt.Sprintf("the name of %s and the password have more than %d bytes together, which memcached "+
			"would cut off: choose a shorter password", user, maxUserLine-1))
	}
	return nil
}

func encodeUsers(users []User) []byte {
	var lines []byte
	for _, user := range users {
		lines = append(lines, user.line()+"\n"...)
	}
	return lines
}

func decodeUsers(lines []byte) []User {
	var users []User
	for line := range bytes.Lines(lines) {
		name, password, _ := strings.Cut(strings.TrimSuffix(string(line), "\n"), ":")
		users = append(users, User{name: name, password: password})
	}
	return users
}

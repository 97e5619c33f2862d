// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"strings"
	"testing"
)

func rsaKey(t *testing.T, bits int) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	must(t, err)
	return key
}

// block returns a PEM block.
func block(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// testPair is a certificate with its key. want begins the reason why the agent refuses them.
type testPair struct{ crt, key, want string }

// p256 is the content of a PEM block EC PARAMETERS for the curve P-256.
var p256 = []byte{0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07}

func pairs(t *testing.T) map[string]testPair {
	t.Helper()
	ca := issue(t, 1, nil, authority)
	good := issue(t, 0xa1, ca)
	ec := good.key.(*ecdsa.PrivateKey)
	sec1, err := x509.MarshalECPrivateKey(ec)
	must(t, err)
	rsa2048 := issueFor(t, 2, rsaKey(t, 2048), ca)
	rsa1024 := issueFor(t, 3, rsaKey(t, 1024), ca)
	sha1 := issue(t, 4, ca, signedWith(x509.ECDSAWithSHA1))
	root := issue(t, 5, nil, authority, signedWith(x509.ECDSAWithSHA1))
	_, twisted, err := ed25519.GenerateKey(rand.Reader)
	must(t, err)
	edwards := issueFor(t, 6, twisted, ca)
	crt, key := string(good.certificatePEM()), string(good.keyPEM(t))
	pkcs1 := x509.MarshalPKCS1PrivateKey(rsa2048.key.(*rsa.PrivateKey))
	rsaCrt, chained, dashes := string(rsa2048.certificatePEM()), string(ca.certificatePEM()), strings.Repeat("-", 5)
	const misfit = "tls.key does not fit the first certificate in tls.crt, or is no RSA, ECDSA or Ed25519 key"
	return map[string]testPair{
		"PKCS #8":                    {crt, key, ""},
		"SEC 1 with parameters":      {crt, block("EC PARAMETERS", p256) + block("EC PRIVATE KEY", sec1), ""},
		"RSA":                        {rsaCrt, string(rsa2048.keyPEM(t)), ""},
		"Ed25519":                    {string(edwards.certificatePEM()), string(edwards.keyPEM(t)), ""},
		"PKCS #1":                    {rsaCrt, block("RSA PRIVATE KEY", pkcs1), ""},
		"a chain":                    {crt + chained, key, ""},
		"a chain with a blank line":  {crt + strings.Replace(chained, "\n"+dashes+"END", "\n\n"+dashes+"END", 1), key, ""},
		"a chain with a header":      {crt + strings.Replace(chained, dashes+"\n", dashes+"\nProc-Type: 4\n\n", 1), key, ""},
		"a root signed with SHA-1":   {crt + string(root.certificatePEM()), key, ""},
		"comments and Windows":       {"mine\r\n" + strings.ReplaceAll(crt, "\n", "\r\n"), "my key\r\n" + strings.ReplaceAll(key, "\n", "\r\n"), ""},
		"the CA first":               {chained + crt, key, misfit},
		"the key of another kind":    {crt, string(rsa2048.keyPEM(t)), misfit},
		"the key of another":         {crt, string(issue(t, 7, ca).keyPEM(t)), misfit},
		"files exchanged":            {key, crt, "tls.crt holds something else than certificates"},
		"a key with a passphrase":    {crt, block("ENCRYPTED PRIVATE KEY", []byte("secret")), misfit},
		"a damaged key":              {crt, key[:len(key)/2] + "AAAA" + key[len(key)/2:], misfit},
		"a damaged certificate":      {block("CERTIFICATE", good.certificate.Raw[:100]), key, "certificate 1 in tls.crt cannot be parsed"},
		"a short RSA key":            {string(rsa1024.certificatePEM()), string(rsa1024.keyPEM(t)), "the RSA key of certificate 1 in tls.crt is shorter than 2048 bits"},
		"a short RSA key in a chain": {crt + string(rsa1024.certificatePEM()), key, "the RSA key of certificate 2 in tls.crt is shorter than 2048 bits"},
		"signed with SHA-1":          {string(sha1.certificatePEM()), string(sha1.keyPEM(t)), "certificate 1 in tls.crt is signed with SHA-1 or MD5"},
		"a chain signed with SHA-1":  {crt + string(sha1.certificatePEM()), key, "certificate 2 in tls.crt is signed with SHA-1 or MD5"},
		"a chain cut off":            {crt + chained[:len(chained)/2], key, "a PEM block in tls.crt is invalid"},
		"a damaged chain":            {crt + strings.Replace(chained, "M", "!", 1), key, "a PEM block in tls.crt is invalid"},
		"a chain without a line end": {strings.TrimSpace(crt) + chained, key, "a PEM block in tls.crt is invalid"},
		"another label in a chain":   {crt + block("TRUSTED CERTIFICATE", ca.certificate.Raw), key, "tls.crt holds something else than certificates"},
		"the key in the chain":       {crt + key, key, "tls.crt holds something else than certificates"},
		"a key of OpenSSH":           {crt, block("OPENSSH PRIVATE KEY", []byte("openssh-key-v1")), misfit},
	}
}

// mustRefuse fails the test unless err is an *InvalidError with this reason and a message that begins with want, or nil if want is empty.
func mustRefuse(t *testing.T, name string, err error, reason, want string) {
	t.Helper()
	var invalid *InvalidError
	switch {
	case want == "" && err != nil:
		t.Errorf("%s: %v", name, err)
	case want != "" && (!errors.As(err, &invalid) || invalid.Reason != reason || !strings.HasPrefix(invalid.Message, want)):
		t.Errorf("%s: got %v, want %s", name, err, want)
	}
}

func TestPairs(t *testing.T) {
	for name, test := range pairs(t) {
		_, err := parsePair(map[string][]byte{"tls.crt": []byte(test.crt), "tls.key": []byte(test.key)}, false)
		mustRefuse(t, name, err, ReasonInvalidCertificate, test.want)
	}
}

// ca.crt must hold at least one PEM block. Each block must be well-formed and have the label CERTIFICATE. The agent must refuse any other
// label, because OpenSSL also trusts certificates with some other labels.
func TestAuthorities(t *testing.T) {
	first, second := issue(t, 1, nil, authority), issue(t, 2, nil, authority, signedWith(x509.ECDSAWithSHA1))
	pem1, pem2 := string(first.certificatePEM()), string(second.certificatePEM())
	for name, test := range map[string]struct{ text, want string }{
		"two":                {"the first:\n" + pem1 + "\n" + pem2, ""},
		"no line end":        {strings.TrimSpace(pem1) + pem2, "a PEM block in ca.crt is invalid"},
		"one indented":       {pem1 + " " + pem2, "a PEM block in ca.crt is invalid"},
		"an old label":       {pem1 + block("X509 CERTIFICATE", second.certificate.Raw), "ca.crt holds something else than certificates"},
		"a label of OpenSSL": {pem1 + block("TRUSTED CERTIFICATE", second.certificate.Raw), "ca.crt holds something else than certificates"},
		"a key":              {pem1 + string(first.keyPEM(t)), "ca.crt holds something else than certificates"},
		"text":               {"none", "ca.crt holds no certificate"},
	} {
		found, err := parseCertificates("ca.crt", []byte(test.text))
		mustRefuse(t, name, err, ReasonInvalidCertificate, test.want)
		if err == nil && len(found) != 2 {
			t.Errorf("%s: %d certificates", name, len(found))
		}
	}
}

func TestUsers(t *testing.T) {
	long := strings.Repeat("x", maxUserLine-len("bob:"))
	for name, test := range map[string]struct {
		secret map[string][]byte
		file   string
		want   string
	}{
		"by name":                  {usersSecret("zoe", "3", "bob", "1", "eve", "2"), "bob:1\neve:2\nzoe:3\n", ""},
		"colons and spaces":        {usersSecret("bob", "a:b c "), "bob:a:b c \n", ""},
		"the longest":              {usersSecret("bob", long), "bob:" + long + "\n", ""},
		"one byte too many":        {usersSecret("bob", long+"x"), "", "the name of the user bob and the password have more than 253 bytes"},
		"no users":                 {nil, "", "the Secret of spec.auth.secretName does not exist or has no keys"},
		"an empty password":        {usersSecret("bob", ""), "", "the password of the user bob is empty"},
		"a zero byte":              {usersSecret("bob", "a\x00b"), "", "the password of the user bob contains a zero byte"},
		"a carriage return":        {usersSecret("bob", "a\rb"), "", "the password of the user bob contains a line break"},
		"a colon":                  {usersSecret("b:ob", "a"), "", `the key "b:ob" is not a valid user name`},
		"a space":                  {usersSecret("b ob", "a"), "", `the key "b ob" is not a valid user name`},
		"characters of ours":       {usersSecret("bób\x1b", "a"), "", `the key "b\u00f3b\x1b" is not a valid user name`},
		"basic-auth":               {usersSecret("username", "web", "password", "1"), "web:1\n", ""},
		"a user username":          {usersSecret("username", "1"), "username:1\n", ""},
		"a user password":          {usersSecret("password", "1", "web", "2"), "password:1\nweb:2\n", ""},
		"almost basic-auth":        {usersSecret("user", "web", "pass", "1"), "", "the Secret of spec.auth.secretName has keys such as user and pass"},
		"of another database":      {usersSecret("user", "app", "password", "1", "host", "db"), "", "the Secret of spec.auth.secretName has keys such as user and pass"},
		"basic-auth, a colon":      {usersSecret("username", "w:eb", "password", "1"), "", "the value of the key username is not a valid user name"},
		"basic-auth, no name":      {usersSecret("username", "", "password", "1"), "", "the value of the key username is not a valid user name"},
		"basic-auth, a line break": {usersSecret("username", "web", "password", "1\n"), "", "the password of the user that the key username names cont"},
		"of a database": {
			usersSecret("username", "app", "password", "1", "host", "db", "uri", "postgresql://db"), "",
			"the Secret of spec.auth.secretName has host, uri beside username and password, as that of a database",
		},
		"nine":  {usersSecret("a", "1", "b", "1", "c", "1", "d", "1", "e", "1", "f", "1", "g", "1", "h", "1", "i", "1"), "", "the Secret of spec.auth.secretName has 9 keys"},
		"eight": {usersSecret("a", "1", "b", "1", "c", "1", "d", "1", "e", "1", "f", "1", "g", "1", "h", "1"), "a:1\nb:1\nc:1\nd:1\ne:1\nf:1\ng:1\nh:1\n", ""},
	} {
		users, err := parseUsers(test.secret)
		mustRefuse(t, name, err, ReasonInvalidCredentials, test.want)
		if err == nil && string(encodeUsers(users)) != test.file {
			t.Errorf("%s: %s", name, encodeUsers(users))
		}
	}
}

// SPDX-FileCopyrightText: The Memcached Operator Authors
// SPDX-License-Identifier: Apache-2.0

package credentials

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
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
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func block(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// withPassphrase is an encrypted key in the format that OpenSSL used before PKCS #8.
var withPassphrase = string(pem.EncodeToMemory(&pem.Block{
	Type: "EC PRIVATE KEY", Bytes: []byte("secret"), Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-128-CBC,00"},
}))

// pair is a certificate with its key. want begins the reason why the agent refuses them.
type pair struct{ crt, key, want string }

// p256 is the content of a PEM block EC PARAMETERS for the curve P-256.
var p256 = []byte{0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07}

func pairs(t *testing.T) map[string]pair {
	t.Helper()
	ca := issue(t, 1, nil, authority)
	good := issue(t, 0xa1, ca)
	ec, isEC := good.key.(*ecdsa.PrivateKey)
	if !isEC {
		t.Fatal("no EC key")
	}
	sec1, err := x509.MarshalECPrivateKey(ec)
	if err != nil {
		t.Fatal(err)
	}
	rsa2048 := issueFor(t, 2, rsaKey(t, 2048), ca)
	rsa1024 := issueFor(t, 3, rsaKey(t, 1024), ca)
	sha1 := issue(t, 4, ca, signedWith(x509.ECDSAWithSHA1))
	root := issue(t, 5, nil, authority, signedWith(x509.ECDSAWithSHA1))
	twin, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, twisted, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	edwards := issueFor(t, 6, twisted, ca)
	crt, key := string(good.certificatePEM()), string(good.keyPEM(t))
	pkcs1, pkcs8 := x509.MarshalPKCS1PrivateKey(rsa2048.key.(*rsa.PrivateKey)), keyDER(t, rsa2048.key)
	rsaCrt, chained, dashes := string(rsa2048.certificatePEM()), string(ca.certificatePEM()), strings.Repeat("-", 5)
	return map[string]pair{
		"PKCS #8":                     {crt, key, ""},
		"SEC 1 with parameters":       {crt, block("EC PARAMETERS", p256) + block("EC PRIVATE KEY", sec1), ""},
		"RSA":                         {string(rsa2048.certificatePEM()), string(rsa2048.keyPEM(t)), ""},
		"Ed25519":                     {string(edwards.certificatePEM()), string(edwards.keyPEM(t)), ""},
		"Ed25519 as SEC 1":            {string(edwards.certificatePEM()), block("EC PRIVATE KEY", keyDER(t, twisted)), "tls.key cannot be read"},
		"PKCS #1":                     {rsaCrt, block("RSA PRIVATE KEY", pkcs1), ""},
		"PKCS #8 as PKCS #1":          {rsaCrt, block("RSA PRIVATE KEY", pkcs8), ""},
		"PKCS #8 as SEC 1":            {crt, block("EC PRIVATE KEY", keyDER(t, ec)), ""},
		"a chain":                     {crt + chained, key, ""},
		"a root signed with SHA-1":    {crt + string(root.certificatePEM()), key, ""},
		"comments and Windows":        {"my certificate\r\n" + strings.ReplaceAll(crt, "\n", "\r\n"), "my key\r\n" + strings.ReplaceAll(key, "\n", "\r\n"), ""},
		"the CA first":                {string(ca.certificatePEM()) + crt, key, "tls.key does not fit the first certificate in tls.crt"},
		"the key of another curve":    {crt, string((&issued{key: twin}).keyPEM(t)), "tls.key does not fit"},
		"the key of another kind":     {crt, string(rsa2048.keyPEM(t)), "tls.key does not fit"},
		"files exchanged":             {key, crt, "tls.crt holds something else than certificates"},
		"the certificate as a key":    {crt, crt, "tls.key holds no private key"},
		"a key with a passphrase":     {crt, block("ENCRYPTED PRIVATE KEY", []byte("secret")), "tls.key cannot be read: store an RSA, ECDSA or Ed25519 key without a passphrase"},
		"a damaged key":               {crt, key[:len(key)/2] + "AAAA" + key[len(key)/2:], "tls.key"},
		"a damaged certificate":       {block("CERTIFICATE", good.certificate.Raw[:100]), key, "certificate 1 in tls.crt cannot be parsed"},
		"a short RSA key":             {string(rsa1024.certificatePEM()), string(rsa1024.keyPEM(t)), "the RSA key of certificate 1 in tls.crt is shorter than 2048 bits"},
		"a short RSA key in a chain":  {crt + string(rsa1024.certificatePEM()), key, "the RSA key of certificate 2 in tls.crt is shorter than 2048 bits"},
		"signed with SHA-1":           {string(sha1.certificatePEM()), string(sha1.keyPEM(t)), "certificate 1 in tls.crt is signed with SHA-1 or MD5"},
		"a chain signed with SHA-1":   {crt + string(sha1.certificatePEM()), key, "certificate 2 in tls.crt is signed with SHA-1 or MD5"},
		"cut off":                     {crt[:len(crt)/2], key, "a PEM block in tls.crt is invalid"},
		"a chain cut off":             {crt + chained[:len(chained)/2], key, "a PEM block in tls.crt is invalid"},
		"a damaged chain":             {crt + strings.Replace(chained, "M", "!", 1), key, "a PEM block in tls.crt is invalid"},
		"a chain without a line end":  {strings.TrimSpace(crt) + chained, key, "a PEM block in tls.crt is invalid"},
		"a blank line in a chain":     {crt + strings.Replace(chained, "\n"+dashes+"END", "\n\n"+dashes+"END", 1), key, "a PEM block in tls.crt is invalid, contains a blank line"},
		"a header in a chain":         {crt + strings.Replace(chained, dashes+"\n", dashes+"\nProc-Type: 4\n\n", 1), key, "tls.crt holds something else than certificates"},
		"another label in a chain":    {crt + block("TRUSTED CERTIFICATE", ca.certificate.Raw), key, "tls.crt holds something else than certificates"},
		"the key in the chain":        {crt + key, key, "tls.crt holds something else than certificates"},
		"a key without a line end":    {crt, strings.TrimSpace(key) + key, "a PEM block in tls.key is invalid"},
		"SEC 1 as PKCS #8":            {crt, block("PRIVATE KEY", sec1), "tls.key cannot be read: store"},
		"SEC 1 as PKCS #1":            {crt, block("RSA PRIVATE KEY", sec1), "tls.key cannot be read: store"},
		"PKCS #1 as PKCS #8":          {rsaCrt, block("PRIVATE KEY", pkcs1), "tls.key cannot be read: store"},
		"PKCS #1 as SEC 1":            {rsaCrt, block("EC PRIVATE KEY", pkcs1), "tls.key cannot be read: store"},
		"PKCS #8 of another kind":     {crt, block("RSA PRIVATE KEY", keyDER(t, ec)), "tls.key cannot be read: store"},
		"a key of OpenSSH":            {crt, block("OPENSSH PRIVATE KEY", keyDER(t, ec)), "tls.key cannot be read: store"},
		"an old passphrase":           {crt, withPassphrase, "tls.key cannot be read: store an RSA, ECDSA or Ed25519 key without a passphrase"},
		"not even a key of this type": {crt, block("PRIVATE KEY", []byte{0x30, 0}), "tls.key cannot be read"},
	}
}

func TestPairs(t *testing.T) {
	for name, test := range pairs(t) {
		certificate, err := parsePair([]byte(test.crt), []byte(test.key))
		var invalid *InvalidError
		switch {
		case test.want == "" && (err != nil || certificate == nil):
			t.Errorf("%s: %v", name, err)
		case test.want != "" && (!errors.As(err, &invalid) || invalid.Reason != ReasonInvalidCertificate || !strings.HasPrefix(invalid.Message, test.want)):
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
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
		var invalid *InvalidError
		switch {
		case test.want == "" && (err != nil || len(found) != 2):
			t.Errorf("%s: %v", name, err)
		case test.want != "" && (!errors.As(err, &invalid) || invalid.Reason != ReasonInvalidCertificate || !strings.HasPrefix(invalid.Message, test.want)):
			t.Errorf("%s: got %v, want %s", name, err, test.want)
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
		"by name":            {usersSecret("zoe", "3", "bob", "1", "eve", "2"), "bob:1\neve:2\nzoe:3\n", ""},
		"colons and spaces":  {usersSecret("bob", "a:b c "), "bob:a:b c \n", ""},
		"the longest":        {usersSecret("bob", long), "bob:" + long + "\n", ""},
		"one byte too many":  {usersSecret("bob", long+"x"), "", "the name of the user bob and the password have more than 253 bytes"},
		"no users":           {nil, "", "the Secret of spec.auth.secretName does not exist or has no keys"},
		"an empty password":  {usersSecret("bob", ""), "", "the password of the user bob is empty"},
		"a zero byte":        {usersSecret("bob", "a\x00b"), "", "the password of the user bob contains a zero byte"},
		"a carriage return":  {usersSecret("bob", "a\rb"), "", "the password of the user bob contains a line break"},
		"a colon":            {usersSecret("b:ob", "a"), "", `the key "b:ob" is not a valid user name`},
		"a space":            {usersSecret("b ob", "a"), "", `the key "b ob" is not a valid user name`},
		"characters of ours": {usersSecret("bób\x1b", "a"), "", `the key "b\u00f3b\x1b" is not a valid user name`},
		"basic-auth":         {usersSecret("username", "web", "password", "1"), "web:1\n", ""},
		"a user username":    {usersSecret("username", "1"), "username:1\n", ""},
		"a user password":    {usersSecret("password", "1", "web", "2"), "password:1\nweb:2\n", ""},
		"basic-auth, a name with a colon": {
			usersSecret("username", "w:eb", "password", "1"), "",
			"the value of the key username is not a valid user name: use letters",
		},
		"basic-auth, no name": {usersSecret("username", "", "password", "1"), "", "the value of the key username is not a valid user name"},
		"basic-auth, a line break": {
			usersSecret("username", "web", "password", "1\n"), "",
			"the password of the user that the key username names contains a line break",
		},
		"of a database": {
			usersSecret("username", "app", "password", "1", "host", "db", "uri", "postgresql://db"), "",
			"the Secret of spec.auth.secretName has host, uri beside username and password, as that of a database",
		},
		"nine":  {usersSecret("a", "1", "b", "1", "c", "1", "d", "1", "e", "1", "f", "1", "g", "1", "h", "1", "i", "1"), "", "the Secret of spec.auth.secretName has 9 keys"},
		"eight": {usersSecret("a", "1", "b", "1", "c", "1", "d", "1", "e", "1", "f", "1", "g", "1", "h", "1"), "a:1\nb:1\nc:1\nd:1\ne:1\nf:1\ng:1\nh:1\n", ""},
	} {
		users, err := parseUsers(test.secret)
		var invalid *InvalidError
		switch {
		case test.want == "" && (err != nil || string(encodeUsers(users)) != test.file):
			t.Errorf("%s: %v, %s", name, err, encodeUsers(users))
		case test.want != "" && (!errors.As(err, &invalid) || invalid.Reason != ReasonInvalidCredentials || !strings.HasPrefix(invalid.Message, test.want)):
			t.Errorf("%s: got %v, want %s", name, err, test.want)
		}
	}
}

package redact

import (
	"regexp"
	"slices"
	"strings"
)

// isPublic reports whether a word in text that may look random is public: a checksum, a part of a certificate or of another
// public block of PEM, a public key, the name of a resource of AWS, or an identifier in code.
func isPublic(text string, from, to int) bool {
	word := text[from:to]
	return slices.ContainsFunc(publicPrefixes, func(begin string) bool { return strings.HasPrefix(word, begin) }) ||
		isChecksum(text, from, to) || isResourceName(text[:from]) || isInPublicBlock(text[:from]) || isIdentifier(word)
}

// publicPrefixes are the beginnings of public keys in the encodings of SSH and X.509, and of names in C++.
var publicPrefixes = []string{
	"AAAAB3NzaC1yc2E", "AAAAC3NzaC1lZDI1NTE5", "AAAAE2VjZHNh", "MIIBIjANBgkqhkiG9w0BAQEFAAOC", "MIICIjANBgkqhkiG9w0BAQEFAAOC", "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE", "MCowBQYDK2VwAyEA", "_ZN",
}

// isChecksum reports whether the word in text is a checksum in base64 after its algorithm, as in sha512-VALUE of npm,
// SHA256:VALUE of SSH and h1:VALUE of Go.
func isChecksum(text string, from, to int) bool {
	at := checksum.FindStringSubmatchIndex(text[max(0, from-len("sha512:")):to])
	return at != nil && slices.Contains(checksumLengths, at[3]-at[2])
}

var (
	checksum = regexp.MustCompile(`(?:^|[^A-Za-z0-9])(?:(?i:sha-?(?:1|224|256|384|512)|md5)[-:]|h1:)([A-Za-z0-9+/_-]+)$`)
	// checksumLengths are the lengths of 16, 20, 28, 32, 48 and 64 bytes in base64, without signs at the end.
	checksumLengths = []int{22, 27, 38, 43, 64, 86}
)

// isInPublicBlock reports whether text ends within a block of PEM that is not a private key.
func isInPublicBlock(text string) bool {
	text = text[max(0, len(text)-maxBlock):]
	const begin = "-----BEGIN "
	at := strings.LastIndex(text, begin)
	if at < 0 {
		return false
	}
	label, data, closed := strings.Cut(text[at+len(begin):], "-----")
	return closed && slices.ContainsFunc(publicBlocks, func(name string) bool { return strings.HasPrefix(label, name) }) &&
		!strings.ContainsAny(pgpHeader.ReplaceAllString(data, ""), "-:{}()<>")
}

const maxBlock = 16 << 10

var (
	publicBlocks = []string{"CERTIFICATE", "PUBLIC KEY", "RSA PUBLIC KEY", "PGP PUBLIC KEY", "PGP SIGNATURE", "PGP MESSAGE", "SSH SIGNATURE", "X509 CRL", "DH PARAMETERS", "NEW CERTIFICATE REQUEST"}
	pgpHeader    = regexp.MustCompile(`(?m)^(?:Version|Comment|Hash): .*$`)
)

// isIdentifier reports whether a word consists mostly of words in the case of identifiers.
func isIdentifier(word string) bool {
	length := 0
	for _, at := range capitalized.FindAllStringIndex(word, -1) {
		length += at[1] - at[0]
	}
	return length*10 >= len(word)*minWords
}

const minWords = 6 // of 10 characters

var capitalized = regexp.MustCompile(`[A-Z][a-z]{3,}`)

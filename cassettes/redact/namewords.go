package redact

import (
	"slices"
	"strings"
)

// nameWords returns the words of a name in lower case, in their usual form: those of api_key, X-Api-Key,
// apiKey, APIKey, apikey, api2key and apiKey2 are api and key.
func nameWords(name string) (words []string) {
	from := 0
	cut := func(to int) {
		if to > from {
			words = append(words, joinedWords(strings.ToLower(name[from:to]))...)
		}
		from = to
	}
	signs := false
	for i := range len(name) {
		switch c := name[i]; {
		case !isLetter(c):
			cut(i)
			from = i + 1
			signs = signs || !isDigit(c)
		case i > 0 && isUpper(c) && (!isUpper(name[i-1]) || i+1 < len(name) && 'a' <= name[i+1] && name[i+1] <= 'z'):
			cut(i)
		}
	}
	cut(len(name))
	if !signs && len(words) > 1 { // such as PINcode
		if joined := joinedWords(strings.ToLower(strings.Trim(name, digitChars))); len(joined) > 1 {
			return joined
		}
	}
	return words
}

// joinedWords returns the words of a word that consists of known ones, such as privatekeypem, and else the
// word.
func joinedWords(word string) []string {
	if usual, found := usualWords[word]; found {
		return []string{usual}
	}
	if len(word) <= maxJoined {
		if words := split(word, maxParts); words != nil {
			return words
		}
	}
	return []string{word}
}

const (
	maxJoined = 32 // letters
	maxParts  = 5  // words
)

// split returns the known words that a word consists of, or nil. It prefers long ones.
func split(word string, parts int) []string {
	if word == "" {
		return []string{}
	}
	if parts == 0 {
		return nil
	}
	for n := min(len(word), longestUsual); n > 1; n-- {
		if usual, found := usualWords[word[:n]]; found {
			if rest := split(word[n:], parts-1); rest != nil {
				return append([]string{usual}, rest...)
			}
		}
	}
	return nil
}

// usualWords are the words that names consist of, by themselves and by their abbreviations.
var usualWords, longestUsual = func() (map[string]string, int) {
	words := map[string]string{
		"pswd": "password", "passwrd": "password", "pword": "password", "passwort": "password", "tkn": "token", "cred": "credential", "conn": "connection", "str": "string",
		"priv": "private", "pvt": "private", "sess": "session", "authn": "auth", "authz": "auth", "num": "number",
	}
	longest := 0
	for _, w := range slices.Concat(passwordWords, pinWords, keyOwners, keyKinds, codeOwners, describing, harmlessOwners, qualifiers) {
		words[w] = w
	}
	for w := range words {
		longest = max(longest, len(w))
	}
	return words, longest
}()

// qualifiers are further words of names.
var qualifiers = strings.Fields(`
	key keys code codes tokens session sessions signature string number value text pem data hash raw plain encrypted encoded hex connection
	user db database admin mysql postgres pg redis mongo ldap bind smtp imap ftp sftp wlan vpn proxy http https rest git github gitlab azure aws gcp stripe slack openai
	test prod live dev staging old new current temp default oauth env saml sso store trust keystore truststore phrase bot guest signin register customer member employee svc
	system remote two one verify confirm confirmation repeat again initial email mail phone sender card bank basic preshared pat sim
`)

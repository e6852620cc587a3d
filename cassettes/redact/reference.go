package redact

import (
	"regexp"
	"slices"
	"strings"
)

// isAbout reports whether the value after a name is no secret: it names one, as in ${TOKEN}, or is about one,
// as in "must have 8 characters".
func isAbout(value string) bool { return isReference(value) || isMessage(value) || isFileName(value) }

// isReference reports whether a value is a variable, the result of a command, a place in a template, or an
// example.
func isReference(value string) bool {
	if len(value) > maxReference || value == "" {
		return false
	}
	if command, found := strings.CutPrefix(value, "$("); found {
		return strings.HasSuffix(command, ")") && !strings.HasPrefix(command, "echo ") && !strings.HasPrefix(command, "printf ")
	}
	return reference.MatchString(value) || strings.Trim(value, value[:1]) == "" && strings.Contains("*.xX•", value[:1]) || yourOwn.MatchString(value) && !strings.ContainsAny(value, digitChars)
}

const maxReference = 256

var (
	reference = regexp.MustCompile(`^(?:\$\{\{?[^{}:]*\}?\}|\$[A-Z_][A-Z0-9_]*|\{\{[^{}]*\}\}|\{(?:[A-Za-z_][\w.]*)?\}|%[svdq]|%[A-Z_][A-Z0-9_]*%|<[A-Za-z_ -]+>)$`)
	yourOwn   = regexp.MustCompile(`^(?i:your)[-_ ]?[A-Za-z_ -]+$`)
	fileName  = regexp.MustCompile(`(?i)^[\w./\\~-]+\.(?:pem|key|crt|cer|p12|pfx|jks|pub|json|ya?ml|txt|env|7z|zip|gz|gpg|asc|conf|ini|toml|png|jpe?g|gif|webp|pdf|csv)$`)
	// algorithm matches the names of algorithms and of types of keys.
	algorithm = regexp.MustCompile(`^(?i:ssh-)?(?i:caching_sha2_password|mysql_native_password|x25519|ed25519|ed448|secp\d{3}[kr]1|prime256v1|(?:rsa|dsa|ecdsa|aes|sha|hmac|hs|rs|es|ps|scram|argon|pbkdf|bcrypt|oauth)[-_]?(?:sha)?[-_]?\d{1,4}\w?(?:[-_](?:cbc|gcm|ctr|nistp\d{3}))?)$`)
	// hardwarePin matches the names of pins of a circuit.
	hardwarePin = regexp.MustCompile(`^(?i:(?:gpio|adc|dac|pwm|spi|i2c|uart|usart|led|bcm|touch)(?:_num)?[_-]?\d{1,2}(?:_[a-z\d]{1,5})?)$`)
)

// isFileName reports whether a value is a path, the name of a file, an algorithm or a resource of AWS.
func isFileName(value string) bool {
	return len(value) > 2 && isLetter(value[0]) && value[1] == ':' && strings.IndexByte(`\/`, value[2]) >= 0 || strings.HasPrefix(value, "arn:aws") || fileName.MatchString(value) || algorithm.MatchString(value)
}

// isAddress reports whether a word is an address of Ethereum or Bitcoin, which are public. A private key has another
// length.
func isAddress(word string) bool {
	digits, found := strings.CutPrefix(word, "0x")
	return found && len(digits) == 40 && hexDash.all(digits) || bitcoin.MatchString(word)
}

var bitcoin = regexp.MustCompile(`^bc1[a-z0-9]{39}(?:[a-z0-9]{20})?$`)

// isMessage reports whether a value is a sentence about a password or the like: an error or a hint.
func isMessage(value string) bool {
	words := strings.Fields(strings.ToLower(value))
	for i, w := range words {
		words[i] = strings.Trim(w, ".,:;!?()'\"")
		if strings.ContainsAny(words[i], digitChars) && !isNumber(words[i]) { // such as hunter2
			return false
		}
	}
	has := func(list []string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, w) })
	}
	return len(words) >= 3 && has(messageVerbs) && (has(messageWords) || strings.HasSuffix(value, ".") && has(messageNouns))
}

func isNumber(word string) bool { return strings.Trim(word, digitChars) == "" }

var (
	messageVerbs = strings.Fields("is are be must should can can't cannot does do has have may was were not enter your this")
	messageWords = strings.Fields("character characters digits required must invalid incorrect wrong expired missing blank empty short least match minimum")
	messageNouns = strings.Fields("password passwords passphrase token tokens key keys secret pin code credentials field")
)

// isCodeAt reports whether the value without quotes in text is code: a call, or the member of an object that has the name
// of a secret or of settings.
func isCodeAt(text string, p part) bool {
	said := text[p.from:p.to]
	if p.from > 0 && strings.IndexByte("\"'`", text[p.from-1]) >= 0 {
		return false
	}
	if rest, call := strings.CutPrefix(text[p.to:], "("); call && identifiers.MatchString(said) {
		rest = rest[:lineLength(rest)]
		return rest == "" || strings.Contains(rest, ")") || strings.HasSuffix(rest, ",")
	}
	if !strings.ContainsAny(said, ".[") || !identifiers.MatchString(said) {
		return false
	}
	said, _, _ = strings.Cut(said, "[")
	first, _, _ := strings.Cut(said, ".")
	last := said[strings.LastIndexByte(said, '.')+1:]
	return slices.Contains(objects, withoutNumber(first)) || tellingSecrecy(last, plainName(last)) > secretNever && !looksRandom(last)
}

var identifiers = regexp.MustCompile(`^[A-Za-z_]\w*(?:(?:\?|!)?\.[A-Za-z_]\w*|\[[^\[\]]*\]?)*$`)

// objects are the names of objects in code that have settings and arguments.
var objects = strings.Fields("random_password self this process env settings config cfg conf argv opts options params props state request req body form data var local module import ctx context os st secrets")

// isTestResult reports whether a name and a value are the result and the name of a test, as in PASS: TestHTTP2.
func isTestResult(name, value string) bool { return name == "PASS" && testName.MatchString(value) }

var testName = regexp.MustCompile(`^Test[A-Z_]|(?i:^tests?[_/]|_test|_spec|/tests?/)|::|\.(?:py|[jt]sx?|go|rb|rs|java|kt|cs|cc?|cpp|sh|php|exs|swift)\b`)

// isResourceName reports whether the end of text is in the name of a resource of AWS, such as
// arn:aws:secretsmanager:us-east-1:123456789012:secret.
func isResourceName(text string) bool {
	text = text[max(0, len(text)-maxReference):]
	word := text[strings.LastIndexAny(text, " \t\r\n\"'`=(,")+1:]
	return strings.HasPrefix(word, "arn:aws")
}

// endsString reports whether a quote, of which opening is the notation, ends a string with the name before it, as in
// input("Password: ").
func endsString(before, opening, rest string) bool {
	if rest != "" && strings.IndexByte(" ),;+]}>:.\n\\", rest[0]) < 0 || rest == "" {
		return false
	}
	slashes, quote := len(opening)-1, opening[len(opening)-1]
	if rest[0] == '\\' && slashes == 0 {
		return false
	}
	line := before[max(0, len(before)-maxReference):]
	start := strings.LastIndexByte(line, '\n')
	if slashes > 0 {
		start = max(start, strings.LastIndex(line, opening[:slashes]+"n"))
	}
	if start < 0 && len(line) < len(before) { // too long
		return false
	}
	line = line[start+1:]
	open, run := false, 0
	for i := range len(line) {
		switch {
		case line[i] == '\\':
			run++
			continue
		case line[i] == quote && run == slashes && (quote != '\'' || i == 0 || i+1 == len(line) || !isLetter(line[i-1]) || !isLetter(line[i+1])):
			open = !open
		}
		run = 0
	}
	return open
}

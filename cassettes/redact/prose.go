package redact

import (
	"regexp"
	"strings"

	"github.com/looptape/looptape/cassettes/internal/match"
)

// prose returns the words that a sentence names as secrets, as in "the password is VALUE". Only a word
// that looks random or like a password counts.
func (o *Rules) prose(text string) (parts []part) {
	for from := 0; from < len(text); from++ {
		to, digit := from, false
		for to < len(text) && proseChars[text[to]] {
			digit = digit || isDigit(text[to])
			to++
		}
		if digit && to-from >= minNumber && to-from <= maxRandom {
			if at, word := unmarked(text, from, to); o.isNamedWord(text, at, word) {
				parts = append(parts, part{from: at, to: at + len(word)})
			}
		}
		from = to
	}
	return parts
}

// unmarked returns a word without the marks of Markdown around it and the end of its sentence.
func unmarked(text string, from, to int) (at int, word string) {
	word = strings.TrimRight(text[from:to], ".:!?")
	for len(word) > 1 && strings.IndexByte("*_~", word[0]) >= 0 && word[0] == word[len(word)-1] {
		word = word[1 : len(word)-1]
		from++
	}
	return from, strings.TrimRight(word, ".:!?")
}

// isNamedWord reports whether the word of a sentence at this position is a secret.
func (o *Rules) isNamedWord(text string, at int, word string) bool {
	before := text[max(0, at-maxName):at]
	switch {
	case isCode(strings.TrimPrefix(word, "G-")): // as Google writes it
		after := text[at+len(word):]
		if codeEnd.MatchString(after[:min(len(after), maxName)]) || strings.HasSuffix(before, " code ") && codeUse.MatchString(after) {
			return true
		}
		line, joined := withoutJoiner(lineOf(before))
		return joined && o.secrecy(kindBody, lastWords(line)) == secretIfCode
	case len(word) < match.MinSecret || isOperand(word) || strings.HasSuffix(strings.TrimRight(before, " ="), signingKeyID):
		return false
	}
	if line, joined := withoutJoiner(before); joined && isTestResult(lastWords(line), word) {
		return false
	}
	return (looksRandom(word) || isStrong(word) || isScrambled(word)) && !isLabel(word) && o.namesWord(before, len(word) >= minUnjoined)
}

var (
	// codeEnd matches the text after a code, as in 123456 is your verification code.
	codeEnd = regexp.MustCompile(`^ is (?:your|the) (?:[\w.]+ ){0,2}(?i:(?:verification|security|login|sign-in|confirmation|one-time|single-use|authentication|access) (?:pass)?code|OTP|passcode)\b`)
	codeUse = regexp.MustCompile(`^ to (?:verify|sign in|log ?in|confirm|complete|reset|authenticate)\b`)
)

// isOperand reports whether a word is part of code: a type with an operator, or a number.
func isOperand(word string) bool {
	return word[0] == '*' || word[0] == '&' || strings.HasSuffix(word, "*") || strings.HasPrefix(strings.TrimLeft(word, "-"), "0x")
}

// proseChars are the characters of words in sentences.
var proseChars = charsOf("!#$%&*+-./:=?@^_~")

// namesWord reports whether the end of a text names the word after it as a secret. A word may follow a name
// directly if it is long, bold or in the next column, or if the name is password.
func (o *Rules) namesWord(text string, long bool) bool {
	line, joined := withoutJoiner(lineOf(text))
	if line != "" && passwordEnds.match(line) {
		return true
	}
	name := lastWords(line)
	adjacent := long || strings.HasSuffix(text, "**") || strings.HasSuffix(text, "\t") || strings.EqualFold(name, "password") || strings.EqualFold(name, "passcode")
	return (joined || adjacent) && o.secrecy(kindBody, name) >= secretIfStrong
}

// lineOf returns the last line of text, without marks of Markdown at its end. If nothing else is in it, it
// returns the line before, if that ends with a colon.
func lineOf(text string) string {
	for first := true; ; first = false {
		at := strings.LastIndexByte(text, '\n')
		line := strings.TrimRight(text[at+1:], " \t\r*_~`")
		blank := strings.Trim(line, "> -") == ""
		switch {
		case !blank && !first && !strings.HasSuffix(line, ":") && !strings.HasSuffix(line, "："):
			return ""
		case !blank || at < 0:
			return line
		}
		text = text[:at]
	}
}

// isScrambled reports whether the characters of a long word change more often than those of names.
func isScrambled(word string) bool {
	return len(word) >= minScrambled && len(word) <= maxRandom && caseChanges(word)*2 >= len(word) && wordLength(word) == len(word)
}

// minScrambled is the length of the shortest scrambled word.
const minScrambled = 12

// caseChanges counts the changes between upper case, lower case and other characters.
func caseChanges(word string) (n int) {
	for i := 1; i < len(word); i++ {
		if isUpper(word[i]) != isUpper(word[i-1]) || isLetter(word[i]) != isLetter(word[i-1]) {
			n++
		}
	}
	return n
}

const digitChars = "0123456789"

// minUnjoined is the length of a random word directly after a name, as in "the token VALUE".
const minUnjoined = 16

// withoutJoiner returns text without the signs and verbs at its end that join a name and a value.
func withoutJoiner(text string) (before string, joined bool) {
	for {
		plain := strings.TrimRight(text, ":：= “„«‘‹「『(*")
		for _, verb := range joiners {
			if rest, found := strings.CutSuffix(plain, verb); found {
				plain = strings.TrimRight(rest, " ")
				break
			}
		}
		if plain == text {
			return text, joined
		}
		text, joined = plain, true
	}
}

// joiners are what joins a name and a value in sentences of several languages.
var joiners = []string{" is", " was", " are", " now", " to", " ist", " lautet", " est", " es", " é", " è", " это", "是", "为", "為", "は", "은", "는", " -", " –", " —", " →", " ->", " =>", "<b>", "<code>", "<strong>"}

// passwordEnds are words for a password in other languages than English, without a first letter that may
// be a capital.
var passwordEnds = endingsOf(
	"asswort", "ennwort", "ot de passe", "otdepasse", "ontraseña", "ontrasena", "enha", "ароль", "achtwoord", "asło", "haslo", "arola d'ordine", "ösenord", "dgangskode", "alasana", "ifre", "eslo", "elszó",
	"密码", "密碼", "口令", "パスワード", "비밀번호", "암호", "كلمة المرور", "كلمة السر", "סיסמה", "סיסמא", "पासवर्ड", "รหัสผ่าน", "ật khẩu", "ωδικός", "lave de acceso",
)

package redact

import (
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
		if digit && to-from >= match.MinSecret && to-from <= maxRandom && !isOperand(text[from:to]) {
			word := strings.TrimRight(text[from:to], ".:!?")
			if (looksRandom(word) || isStrong(word) || isScrambled(word)) && !isLabel(word) && o.namesWord(text[max(0, from-maxName):from], word) {
				parts = append(parts, part{from: from, to: from + len(word)})
			}
		}
		from = to
	}
	return parts
}

// isOperand reports whether a word is part of code: a type with an operator, or a number.
func isOperand(word string) bool {
	return word[0] == '*' || word[0] == '&' || strings.HasPrefix(strings.TrimLeft(word, "-"), "0x")
}

// proseChars are the characters of words in sentences.
var proseChars = charsOf("!#$%&*+-./:=?@^_~")

// namesWord reports whether the end of a text names the word after it as a secret.
func (o *Rules) namesWord(text, word string) bool {
	line := strings.TrimRight(text[strings.LastIndexByte(text, '\n')+1:], " \t")
	line, joined := withoutJoiner(line)
	if line != "" && passwordEnds.match(line) {
		return true
	}
	return (joined || len(word) >= minUnjoined) && o.secrecy(kindBody, lastWords(line)) >= secretIfStrong
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
		plain := strings.TrimRight(text, ":： ")
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
var joiners = []string{" is", " was", " are", " now", " to", " ist", " lautet", " est", " es", " é", " è", " это", "是", "为", "為", "は", "은", "는"}

// passwordEnds are words for a password in other languages than English, without a first letter that may
// be a capital.
var passwordEnds = endingsOf(
	"asswort", "ennwort", "ot de passe", "otdepasse", "ontraseña", "ontrasena", "enha", "ароль", "achtwoord", "asło", "haslo", "arola d'ordine", "ösenord", "dgangskode", "alasana", "ifre", "eslo", "elszó",
	"密码", "密碼", "口令", "パスワード", "비밀번호",
)

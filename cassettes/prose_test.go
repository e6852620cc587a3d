package cassettes

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cassettes/redact"
)

// proseForms are sentences that name a secret without quotes.
var proseForms = []string{
	"The password is %s, change it.", "Your API key is %s.", "My token is now %s\n", "The token %s has expired", "use access token %s for it",
	"Das Passwort lautet %s.", "Le mot de passe est %s.", "La contraseña es %s", "A senha é: %s.", "пароль: %s", "密码是%s。", "パスワードは%sです。", "Hasło to %s", "La password è %s.", "비밀번호는 %s입니다",
}

// A random value that a sentence names as a secret is redacted, in several languages.
func TestProseSecrets(t *testing.T) {
	rnd := rand.New(rand.NewPCG(19, 7))
	all, missed := 0, 0
	for _, in := range proseForms {
		for _, form := range []string{`{x:32}`, `{x:40}`, `{w:24}`, `{w:32}`, `{a:20}`, `{b:40}`, `{n:16}`, `Tr0ub4dor&3`} {
			if strings.HasPrefix(form, "T") && strings.Contains(in, "oken") {
				continue // a password
			}
			all++
			secret := generated(rnd, form)
			x := exchange{header: jsonType, body: prompt(fmt.Sprintf(in, secret))}
			if _, onDisk := recordSecret(t, plant{make: func(string) exchange { return x }}.with(""), secret, all); onDisk {
				missed++
				t.Logf("missed: %s in %s, %s", form, in, secret)
			}
		}
	}
	if t.Logf("%d of %d missed", missed, all); missed*10 > all {
		t.Errorf("%d of %d secrets in sentences are on disk, want at most 1 in 10", missed, all)
	}
}

// Marks of Markdown, quotes of print, dashes and a new line between a name and a value do not hide it.
func TestProseMarks(t *testing.T) {
	n := 0
	for _, in := range []string{
		"The password is **%s**, change it.", "the password **%s**", "password is *%s*", "password is __%s__.", "password: **%s**", "password “%s”", "password «%s»", "das Passwort ‘%s’", "password — %s", "password - %s", "API key → %s", "password -> %s",
		"the API key (%s)", "Password:\n%s\n", "API key:\n```\n%s\n```", "The password is:\n\n> %s\n", "- password:\n  - `%s`", "password is ```%s```", "كلمة المرور: %s", "רשות סיסמה: %s", "mật khẩu: %s", "clave de acceso: %s", "암호: %s",
		"log in as ann with password %s", "user\tann\npassword\t%s", "the secret key: %s", "api key = %s", "postgres://ann:%s@db.example.com/shop",
	} {
		for _, secret := range []string{"Tr0ub4dor&3", "kX9#mP2$vL5@", "q7Xz92LmPa8Kd31R"} {
			n++
			x := exchange{header: jsonType, body: prompt(fmt.Sprintf(in, secret))}
			if failed, onDisk := recordSecret(t, plant{make: func(string) exchange { return x }}.with(""), secret, n); failed || onDisk {
				t.Errorf("%s with %s: failed: %t, on disk: %t", in, secret, failed, onDisk)
			}
		}
	}
	for _, text := range []string{"Your verification code is %s.", "PIN: %s", "the OTP is **%s**", "The SMS code is: %s"} {
		x := &recording.Interaction{Response: recording.Response{Body: fmt.Appendf(nil, text, "482913")}}
		if got, want := string((&redact.Rules{}).Redacted(x).Response.Body), fmt.Sprintf(text, redact.Placeholder("482913")); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// Words of sentences about secrets stay.
func TestProseWordsStay(t *testing.T) {
	for _, text := range []string{
		"The password is required, the token is expired, and the key is a2b. The password is in vault2. My API key is $KEY1.", "the token utf8mb4 and the key user12", "The token was used 12 times", "the next token is q7Xz92LmPa8Kd31R", "The public key is Zq7pw2Lm91xC9mQ2z7",
		"private key is *ed25519.PrivateKey, as secret &types.CreateOAuth2TokenRequest", "earlySecret *tls13.EarlySecret", "the token -0x40603d07a1b2c3d4e5f6",
		"The password is version2.1", "Das Passwort ist falsch, Fehler 403", "mot de passe oublié 2", "密码是必需的 v2", "la clave primaria es id", "the secret is 12 characters long", "token count 123456, token 1234567890123456",
		"The password is between 8 and 64 characters", "passwordless login is OAuth2", "the access token expires 2026-11-21T08:33:20Z", "secret sha256-based scheme", "a token https://example.com/a1b2c3d4e5f6",
		"The passwords:\n\nversion2.1 is **next**", "status code is 482913, code: 4829", "the PIN has 4 digits, from 1000 to 9999", "The tokens:\n- gpt4o-mini2", "Nothing about a password.\nq7Xz92LmPa8Kd31R", "the key (x86_64-linux)", "a password - 12 characters", "**Token:** **12**", "5 * a12345678 * 3", "private_key_to_bytes(uint8_t**, size_t*)",
	} {
		got := (&redact.Rules{}).Redacted(&recording.Interaction{Response: recording.Response{Body: []byte(text)}})
		if body := string(got.Response.Body); body != text {
			t.Errorf("got  %s\nwant %s", body, text)
		}
	}
}

// An AWS secret access key in the text of its key id is redacted, and words of its length are not.
func TestSecretKeyNextToItsID(t *testing.T) {
	rnd := rand.New(rand.NewPCG(19, 8))
	redacted := func(text string) string {
		return string((&redact.Rules{}).Redacted(&recording.Interaction{Response: recording.Response{Body: []byte(text)}}).Response.Body)
	}
	missed := 0
	const n = 200
	for i := range n {
		secret := generated(rnd, []string{`{b:40}`, `{b:9}/{b:10}/{b:9}+{b:9}`}[i%2])
		id := generated(rnd, []string{"AKIA{2:16}", "ASIA{2:16}", "creds: AKIA{2:16}"}[i%3])
		if strings.Contains(redacted(id+" and\n"+secret+" in us-east-1"), secret) {
			missed++
		}
	}
	if t.Logf("%d of %d missed", missed, n); missed > n/100 {
		t.Errorf("%d of %d are missed", missed, n)
	}
	for _, text := range []string{
		"AKIA" + "ABCDEFGHIJ234567 at da39a3ee5e6b4b0d3255bfef95601890afd80709, and /usr/Local/share/documentation/of/it2/ab",
		"AKIA" + "ABCDEF at q7Xz92LmPa8Kd31Rq7Xz92LmPa8Kd31Rq7Xz92Lm",
	} {
		if got := redacted(text); got != text {
			t.Errorf("got %s, want %s", got, text)
		}
	}
}

// A member is also named as a password by the words of other languages. Ordinary values of such members stay.
func TestForeignNames(t *testing.T) {
	for _, name := range []string{"passwort", "Passwort", "db_passwort", "KENNWORT", "mot_de_passe", "motDePasse", "contraseña", "contrasena", "senha", "пароль", "Пароль", "wachtwoord", "hasło", "şifre", "密码", "パスワード", "비밀번호"} {
		for value, want := range map[string]string{"Tr0ub4dor&3": redact.Placeholder("Tr0ub4dor&3"), "hunter2": redact.Placeholder("hunter2"), "erforderlich": "erforderlich"} {
			form := `{"a":{"` + name + `":"%s"}}`
			got := (&redact.Rules{}).Redacted(&recording.Interaction{Response: recording.Response{Body: fmt.Appendf(nil, form, value)}})
			if body := string(got.Response.Body); body != fmt.Sprintf(form, want) {
				t.Errorf("got %s, want %s", body, want)
			}
		}
	}
}

package redact_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cassettes/redact"
)

// Code, commands, results of tests and messages about secrets stay, as text and in arguments of a tool call.
func TestOrdinaryTextsStay(t *testing.T) {
	for _, text := range []string{
		"password = getpass.getpass(\"Password: \")\nprint(\"ok\")", "token = input('Enter a token: ')\nprint('done')", `<input label="Password:" placeholder="8 letters">`, `def ask(prompt='Password: ', stream=None): return f('x')`,
		"--- PASS: TestHTTP2Server (0.01s)\n    --- PASS: TestHTTP2Server/h2c_1 (0.01s)\nPASS: test_login_v2\nPASS: tests/unit/test_utf8.py",
		"Pass `timeout=30` to the client, or pass \"gpt-4o\" as the model. Pass `-Dpamconfdir=no2` to meson.",
		"git clone ssh://git@github.com/a/b.git, git+https://git@github.com/a/b, postgres://postgres@localhost/db uses postgresql, ssh://ubuntu@10.0.0.1, https://user@example.com/",
		"DB_PASSWORD=\"$(cat /run/secrets/db)\"\nAPI_KEY=\"${API_KEY1}\" PASSWORD=\"$DB_PASS1\" SECRET=\"${{ secrets.S3_SECRET }}\"", `{"Authorization":"Bearer {{token}}","password":"{{password}}","secret":"<client-secret>","api_key":"YOUR_API_KEY"}`,
		`headers = {"Authorization": "Bearer {}".format(token)}; h["Authorization"] = "Bearer %s" % token`, `password: "********", secret: "...", api_key: "xxxx"`,
		"secret = process.env.OAUTH2_CLIENT_SECRET; f(api_key=settings.KEY2, password=self.db1.password)\npassword = self._decode_base64(arg), csrf_token = hashlib.sha256(x), password = var.db_password2, pw = pw1[:-1], id_token = google.oauth2.id_token(",
		`{"errors":{"password":["is too short (minimum is 8 characters)"],"api_key":"You can find your API key in the settings.","secret":"This field may not be blank."}}`,
		`{"PWD":"C:\\Users\\ann1","OLDPWD":"app2x1","pwd":"D:/code/a1b2"}`, "PWD=C:\\Users\\ann1\\src",
		`{"private_key":"ed25519","encryption_key":"AES256","hmac_key":"sha256","host_key":"ecdsa-sha2-nistp256"}`, "--default-auth=caching_sha2_password",
		"ssl_key: certs/server1.key, tls_key: tls1.pem\naz login -p cert1.pem --tenant t, 7z a -ppassword test1.7z",
		`{"secretArn":"arn:aws:secretsmanager:us-east-1:123456789012:secret:db1-AbCdEf","SECRET":"arn:aws:iam::123456789012:role/r1"}`, "--secret-id arn:aws:secretsmanager:us-east-1:123456789012:secret:db1-AbCdEf",
		`{"token":"0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984","token_address":"USDC2e","tokenSymbol":"WBTC2e","paginationToken":"p1q2r3s4t5"}`, "the token 0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984",
		"auth:\n  existingSecret: pg1-secret\n", "switch:\n  pin: GPIO17\n  data_pin: GPIO_NUM_21\n", "| Pin | Function |\n|---|---|\n| GPIO17 | LED1 |\n", "pin,function\nUSART1_RX,in2\n", "| Password | Unit |\n| a1b2c3d4 | b |\n",
		`echo "x=1;y2" | eslint --stdin`, `echo a1b2c3 | prettier --stdin-filepath a.js`, "493021 is the access count, 404 is your error code, use code 493021 to save", "git config user.signingkey 3AA5C34371567BD2", "id,token,count\n1,hello1,20\n", "<a accesskey=\"t\">",
		"INSERT INTO users (name, password) VALUES (:name1, :password1), (@name, @password1), (NEW.name1, NEW.pass1)",
	} {
		if got := redactedText(text); got != text {
			t.Errorf("got  %s\nwant %s", got, text)
		}
		arguments := fmt.Sprintf(`{"arguments":%q}`, text)
		if got := redactedText(arguments); got != arguments {
			t.Errorf("in JSON: got  %s\nwant %s", got, arguments)
		}
		if found := (&redact.Rules{}).FindSecrets(&recording.Interaction{Response: recording.Response{Body: []byte(text)}}); len(found) > 0 {
			t.Errorf("%s: found %v", text, found)
		}
	}
}

// Secrets in notations that resemble those do not stay.
func TestSecretsNextToOrdinaryTexts(t *testing.T) {
	const secret = "Zx81kqLm9"
	for _, text := range []string{
		`f("user: ", password="%s")`, `it's PASSWORD='%s'`, `echo "the password: '%s'"`, "PASS: %s", "user ann, pass `%s`", "https://ann:%s@example.com/", "ssh://%s@example.com/", `PASSWORD="${DB_PASSWORD:-%s}"`, `PASSWORD="$(echo %s)"`,
		`password="%s"`, "password = %s(x", `{"password":"%s"}`, `{"password":"<%s>"}`, `{"password":"your-%s"}`, `{"password":"the words are %s"}`,
		"| user | password |\n|------|----------|\n| ann | %s |\n", " id | password\n----+-----\n  1 | %s\n(1 row)\n", "+----+-----------+\n| id | password  |\n+----+-----------+\n|  1 | %s |\n+----+-----------+\n", "id|password\n1|%s\n",
		`echo %s | docker login --password-stdin`, `echo "%s" | passwd --stdin ann`, "INSERT INTO users (name, password) VALUES ('ann', '%s')", "user,password\nann,%s\n",
	} {
		if got := redactedText(strings.ReplaceAll(text, "%s", secret)); strings.Contains(got, secret) {
			t.Errorf("got %s", got)
		}
	}
	for _, text := range []string{"Your one-time code is 493021.", "493021 is your verification code.", "G-493021 is your Google verification code", "Use code 493021 to verify your account", "493021 is your Example OTP"} {
		if got := redactedText(text); strings.Contains(got, "493021") {
			t.Errorf("got %s", got)
		}
	}
	for _, text := range []string{`{"password":"the password is hunter2"}`, `{"passphrase":"my dog is the best key 7"}`, "PASS: hunter2Lm9.x"} {
		if got := redactedText(text); got == text {
			t.Errorf("got %s", got)
		}
	}
	configured := &redact.Rules{Secret: []string{"tenant"}}
	if got := string(configured.Redacted(&recording.Interaction{Response: recording.Response{Body: []byte(`{"tenant":"{acme}"}`)}}).Response.Body); strings.Contains(got, "acme") {
		t.Errorf("got %s", got)
	}
}

// Checksums in base64 after the name of their algorithm, addresses and ids of documents do not fail a recording; words of
// another length do.
func TestChecksumsAreHarmless(t *testing.T) {
	const random = "oqVuAfXRKap7fdgcCY5uykM6+R9GqQ8K/uxy9rx7HNQlGYl1kPzQho1wx4JwY8wCr8bRNjWL3GshPW3gkd+RpvzWrZAwPS49OmTGZ"
	for text, harmless := range map[string]bool{
		`{"resolved":"https://registry.example.com/a/-/a-1.0.0.tgz","integrity":"sha512-` + random[:86] + `=="}`: true, "golang.org/x/crypto v0.17.0 h1:" + random[:43] + "=": true,
		"ED25519 key fingerprint is SHA256:" + random[:43] + ".": true, `<script integrity="sha384-` + random[:64] + `" src="a.js">`: true, "Content-Security-Policy: script-src 'sha256-" + random[:43] + "='": true,
		"https://docs.google.com/document/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgVE2upms/edit": true, "https://images.example.com/a?ixid=M3wxMjA3fDB8MHxwaG90by1wYWdlfHx8fGVufDB8fHx8fA%3D%3D&w=1": true,
		"from 0x1f9840a85d5aF5bf1D1762F925BDADdC4201F984 to bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq":                   true,
		"sentence-transformers/all-MiniLM-L6-v2 arn:aws:ecs:us-west-2:123456789012:task/c43ed3b1331041f289316f958adb6a24": true, "AKIAIOSFODNN7EXAMPLE": true,
		"/blobs/sha256/3588d02542238316759cbf24502f4344ffcc8a60c803870022f335d1390c13b4 and GET /exec/11fb006128e8ceb3942e7c58d77750f24210e35f879dd204ac975c184b820b39/json": true,
		"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA" + random[:44] + " ann@host":                                                                                                   true, "-----BEGIN CERTIFICATE-----\nMIID" + random[:60] + "\n" + random[20:84] + "\n-----END CERTIFICATE-----\n": true,
		"-----BEGIN PGP SIGNATURE-----\nVersion: GnuPG v2\n\n" + random[:64] + "\n" + random[10:74]: true, "_ZN2v88internal12_GLOBAL__N_16InvokeEPNS0_7IsolateERKNS1_12InvokeParamsE": true,
		"Base64Sha256FromBase64EncryptionKey GoogleCloudSecuritycenterV1p1beta1Asset": true, "X-Stat: eyJuYW1lIjoicm9vdCIsInNpemUiOjQwOTYsIm1vZGUiOjIxNDc0ODQwOTYsIm10aW1lIjoiMjAxNC0w": true,
		"-----BEGIN CERTIFICATE-----\nMIID\n-----END CERTIFICATE-----\n" + random[:64]:                                    false,
		"-----BEGIN CERTIFICATE-----\nMIID\n-----END CERTIFICATE-----\n-----BEGIN CERTIFICATE-----\nMIID\n" + random[:64]: true, "-----BEGIN CERTIFICATE-----\n{\"a\":\"" + random[:64]: false, "-----BEGIN PRIVATE KEY-----\n" + random[:64]: false,
		"the hash sha256:" + random[:40]: false, "sha256 " + random[:43]: false, "xh1:" + random[:43]: false, "https://example.com/" + random[:20] + random[66:86]: false,
	} {
		found := (&redact.Rules{}).FindSecrets(&recording.Interaction{Response: recording.Response{Body: []byte(text)}})
		if (len(found) == 0) != harmless {
			t.Errorf("%s: found %v", text, found)
		}
	}
}

func redactedText(text string) string {
	x := &recording.Interaction{Response: recording.Response{Body: []byte(text)}}
	return string((&redact.Rules{}).Redacted(x).Response.Body)
}

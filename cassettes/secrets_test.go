package cassettes

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/looptape/looptape/cassettes/redact"
)

var (
	secrets    = flag.Int("secrets", 336, "how many generated secrets are recorded")
	secretsDir = flag.String("secrets-dir", "", "an existing `folder` that keeps the recordings of the generated secrets")
)

// secretForms are keys of vendors: {a:20} are 20 random characters of the alphabet a.
var secretForms = []string{
	`sk-ant-api03-{w:93}AA`,
	`sk-{a:48}`,
	`sk-lf-{x:8}-{x:4}-{x:4}-{x:4}-{x:12}`,
	`AIza{w:35}`,
	`ya29.{w:120}`,
	`GOCSPX-{w:28}`,
	`1//0{w:60}`,
	`AQ.Ab{w:48}`,
	`ghp_{a:36}`,
	`github_pat_{_:82}`,
	`glpat-{w:20}`,
	`glcbt-{d:2}_{w:20}`,
	`GR1348941{w:20}`,
	`xoxb-{d:12}-{d:12}-{a:24}`,
	`xapp-1-A{U:10}-{d:13}-{x:64}`,
	`AKIA{2:16}`,
	`ABSK{b:128}`,
	`bedrock-api-key-{b:160}`,
	`hf_{a:34}`,
	`api_org_{a:34}`,
	`gsk_{a:52}`,
	`r8_{a:37}`,
	`pplx-{a:48}`,
	`xai-{a:80}`,
	`sk_live_{a:24}`,
	`whsec_{a:32}`,
	`fw_{a:22}`,
	`tgp_v1_{w:43}`,
	`csk-{n:48}`,
	`nvapi-{w:64}`,
	`tvly-dev-{a:32}`,
	`fc-{x:32}`,
	`e2b_{x:40}`,
	`pcsk_{a:6}_{a:63}`,
	`lsv2_pt_{x:32}_{x:10}`,
	`jina_{x:32}{w:28}`,
	`pa-{w:43}`,
	`as-{a:22}`,
	`rpa_{U:40}`,
	`esecret_{n:26}`,
	`sk_{x:48}`,
	`phx_{a:44}`,
	`llx-{a:48}`,
	`m0-{a:40}`,
	`app-{a:24}`,
	`npm_{a:36}`,
	`pypi-AgEIcHlwaS5vcmc{w:120}`,
	`dckr_pat_{w:27}`,
	`rubygems_{x:48}`,
	`CLOJARS_{n:60}`,
	`cio{a:32}`,
	`hvs.{w:95}`,
	`s.{a:24}`,
	`dop_v1_{x:64}`,
	`dapi{x:32}`,
	`dp.pt.{a:43}`,
	`duffel_test_{w:43}`,
	`dt0c01.{U:24}.{U:64}`,
	`EZAK{a:54}`,
	`EAAC{a:120}`,
	`FLWSECK_TEST-{x:32}-X`,
	`fo1_{w:43}`,
	`fio-u-{w:64}`,
	`glsa_{a:32}_{x:8}`,
	`glc_{b:120}`,
	`eyJrIjoi{a:84}`,
	`pat.{w:22}.{a:24}.{a:20}`,
	`HRKU-AA{w:58}`,
	`pat-na1-{x:8}-{x:4}-{x:4}-{x:4}-{x:12}`,
	`ico-{a:32}`,
	`lin_api_{a:40}`,
	`ntn_{d:11}{a:35}`,
	`secret_{a:43}`,
	`API-{U:26}`,
	`sha256~{w:43}`,
	`pscale_pw_{w:43}`,
	`PMAK-{x:24}-{x:34}`,
	`pnu_{a:36}`,
	`pul-{x:40}`,
	`rdme_{n:70}`,
	`SG.{w:22}.{w:43}`,
	`xkeysib-{x:64}-{a:16}`,
	`sntryu_{x:64}`,
	`sntrys_eyJpYXQiO{a:80}_{b:43}`,
	`sm_pat_{a:16}`,
	`shippo_live_{x:40}`,
	`shpat_{x:32}`,
	`sgp_{x:16}_{x:40}`,
	`sq0atp-{w:22}`,
	`EAAA{w:60}`,
	`SK{x:32}`,
	`tfp_{w:44}_{a:14}`,
	`t1.{w:43}.{w:86}`,
	`AQVN{w:36}`,
	`YC{w:38}`,
	`A3-{U:6}-{U:11}-{U:5}-{U:5}-{U:5}`,
	`ops_eyJ{b:300}`,
	`p8e-{w:32}`,
	`AGE-SECRET-KEY-1{U:58}`,
	`pat{a:14}.{x:64}`,
	`LTAI{a:20}`,
	`AKCp{a:69}`,
	`cmVmd{a:59}`,
	`v1.0-{x:24}-{x:146}`,
	`4b1d{a:38}`,
	`NRAK-{U:27}`,
	`sbp_{x:40}`,
	`sb_secret_{w:31}`,
	`nfp_{a:36}`,
	`rnd_{a:28}`,
	`tskey-auth-k{a:11}CNTRL-{a:32}`,
	`figd_{w:40}`,
	`ATATT3{w:176}={X:8}`,
	`ATBB{a:32}`,
	`ATTA{x:72}`,
	`CFPAT-{w:43}`,
	`sl.{w:136}`,
	`key-{x:32}`,
	`sk.eyJ{a:80}.{w:22}`,
	`re_{a:8}_{a:24}`,
	`cal_live_{x:32}`,
	`oy2{n:43}`,
	`bkua_{x:40}`,
	`CCIPAT_{a:22}_{x:40}`,
	`squ_{x:40}`,
	`AKID{a:32}`,
	`AKLT{a:43}`,
	`bce-v3/ALTAK-{a:21}/{x:40}`,
	`SCW{U:17}`,
	`napi_{n:64}`,
	`mdb_sa_sk_{w:40}`,
	`xau_{a:40}`,
	`AVNS_{w:20}`,
	`cs_{x:40}`,
	`A21AA{w:92}`,
	`access_token$production${n:16}${x:32}`,
	`rzp_live_{a:14}`,
	`access-sandbox-{x:8}-{x:4}-{x:4}-{x:4}-{x:12}`,
	`pdl_live_apikey_{n:26}_{a:22}_{a:3}`,
	`live_{a:30}`,
	`lip_{a:20}`,
	`AAAAAAAAAAAAAAAAAAAAA{a:80}`,
	`RGAPI-{x:8}-{x:4}-{x:4}-{x:4}-{x:12}`,
	`sdk-{x:8}-{x:4}-{x:4}-{x:4}-{x:12}`,
	`secret-{a:43}`,
	`hcaik_{n:58}`,
	`essu_{b:80}`,
	`live_pub_{x:31}`,
	`pina_{a:60}`,
	`apify_api_{a:36}`,
	`tr_dev_{a:20}`,
	`ak_live_{a:32}`,
	`bb_live_{w:27}`,
	`vck_{a:56}`,
	`ddp_{a:36}`,
	`signkey-prod-{x:64}`,
	`eyJhbGciOiJIUzI1NiJ9.eyJ{a:60}.{w:43}`,
	`eyJhbGciOiJSUzI1NiJ9.eyJ{a:900}.{w:342}`,
	"-----BEGIN RSA PRIVATE KEY-----\n{b:64}\n{b:64}\n{b:40}\n-----END RSA PRIVATE KEY-----",
	"-----BEGIN PRIVATE KEY-----\n{b:64}\n{b:64}\n-----END PRIVATE KEY-----",
	`{d:10}:AA{w:33}`,
	`M{a:23}.{w:6}.{w:38}`,
	`{x:32}-us{d:2}`,
	`{a:14}.atlasv1.{w:64}`,
	`{a:6}_{a:29}_mmk`,
	`https://hooks.slack.com/services/T{U:8}/B{U:10}/{a:24}`,
	`https://discord.com/api/webhooks/{d:18}/{w:68}`,
	`crsr_{x:64}`,
	`key_{x:128}`,
	`dtn_{x:64}`,
	`sk_car_{a:22}`,
	`ak_{w:20}`,
	`ctx7sk-{x:8}-{x:4}-{x:4}-{x:4}-{x:12}`,
	`BSA{w:28}`,
	`md-{w:22}`,
	`wandb_v1_{a:27}_{a:49}`,
	`pylf_v1_us_{a:44}`,
	`luma-{x:8}-{x:4}-{x:4}-{x:4}-{x:12}-{x:8}-{x:4}-{x:4}-{x:4}-{x:12}`,
	`hb_{x:28}`,
	`bu_{w:43}`,
	`con_{x:64}`,
	`n8n_api_{x:80}`,
	`mxb_{a:40}`,
	`pit_{x:64}`,
	`xaat-{x:8}-{x:4}-{x:4}-{x:4}-{x:12}`,
	`pl_{x:32}`,
	`tl_{x:32}`,
	`wk-{a:22}`,
	`KGAT_{x:32}`,
	`sgamp_user_{U:26}_{x:64}`,
	`opk_{x:42}`,
	`amzn.mws.{x:8}-{x:4}-{x:4}-{x:4}-{x:12}`,
	`mlsn.{x:64}`,
	`sntrya_{x:64}`,
	`tk-us-{w:48}`,
	`s-s4t2ud-{x:64}`,
	`{a:3}8Q~{w:34}`,
	`{x:32}-{x:8}-{x:8}`,
	`{x:32}.{a:16}`,
	`{d:15}|{w:27}`,
	`{d:19}-{a:40}`,
	`A3T{U:17}`,
	`$2b$12${a:53}`,
	`$6${a:8}${a:86}`,
	`$argon2id$v=19$m=65536,t=3,p=4${b:22}${b:43}`,
	`scauth_{n:10}.{n:5}.acc-{a:16}.{w:40}`,
	`{x:8}-{x:4}-{x:4}-{x:4}-{x:12}:{x:32}`,
}

// alphabets are the alphabets of secretForms.
var alphabets = map[string]string{
	"a": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
	"b": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
	"w": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-",
	"_": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
	"n": "abcdefghijklmnopqrstuvwxyz0123456789",
	"U": "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
	"2": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
	"d": "0123456789",
	"x": "0123456789abcdef",
	"X": "0123456789ABCDEF",
}

// generated returns a secret of a form.
func generated(rnd *rand.Rand, form string) string {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(form, "{")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		var set string
		set, form, _ = strings.Cut(rest, "}")
		name, length, _ := strings.Cut(set, ":")
		n, err := strconv.Atoi(length)
		alphabet := alphabets[name]
		if err != nil || alphabet == "" {
			panic("alphabet of a form: " + set)
		}
		for range n {
			out.WriteByte(alphabet[rnd.IntN(len(alphabet))])
		}
	}
}

// quoted returns a JSON string.
func quoted(text string) string { return `"` + inJSON(text) + `"` }

// prompt returns the body of a request with text.
func prompt(text string) string {
	return `{"model":"m","messages":[{"role":"user","content":` + quoted(text) + `}]}`
}

// secretContexts are the places of generated secrets.
var secretContexts = []struct {
	name string
	make func(s string) exchange
}{
	{"prose", func(s string) exchange {
		return exchange{header: jsonType, body: prompt("My key is " + s + ", use it.")}
	}},
	{"URL path", func(s string) exchange {
		return exchange{url: "https://example.com/hooks/" + url.PathEscape(s) + "/send"}
	}},
	{"query", func(s string) exchange {
		return exchange{url: "https://example.com/x?a=1&k=" + url.QueryEscape(s) + "&b=2"}
	}},
	{"header", func(s string) exchange {
		return exchange{header: "X-Custom: " + strings.ReplaceAll(s, "\n", `\n`) + "\n"}
	}},
	{"curl line", func(s string) exchange {
		return exchange{header: jsonType, body: prompt("Run this:\ncurl -sS -H 'X-Custom: " + s + "' https://example.com/x")}
	}},
	{"netrc", func(s string) exchange {
		return exchange{gotHeader: jsonType, gotBody: `{"file":` + quoted("machine example.com\n  login me\n  password "+s+"\n") + `}`}
	}},
	{"dotenv", func(s string) exchange {
		return exchange{gotHeader: jsonType, gotBody: `{"stdout":` + quoted("A=1\nFOO=\""+strings.ReplaceAll(s, "\n", `\n`)+"\"\nB=2\n") + `}`}
	}},
	{"DSN", func(s string) exchange {
		return exchange{header: jsonType, body: prompt("connect to postgres://me:" + url.QueryEscape(s) + "@db.example.com:5432/x?sslmode=require")}
	}},
	{"JSON in JSON in JSON", func(s string) exchange {
		return exchange{header: jsonType, body: prompt(`{"arguments":` + quoted(`{"x":`+quoted(s)+`}`) + `}`)}
	}},
	{"data URL", func(s string) exchange {
		file := base64.StdEncoding.EncodeToString([]byte("# settings\nname = demo\nvalue = " + s + "\n"))
		return exchange{header: jsonType, body: `{"file":"data:text/plain;base64,` + file + `"}`}
	}},
	{"member data", func(s string) exchange {
		return exchange{gotHeader: jsonType, gotBody: `{"id":"x1","data":` + quoted("name = demo\nvalue = "+s+"\n") + `}`}
	}},
	{"base64", func(s string) exchange {
		file := base64.StdEncoding.EncodeToString([]byte("# settings\nname = demo\nvalue = " + s + "\n"))
		return exchange{gotHeader: jsonType, gotBody: `{"content":"` + file + `","encoding":"base64"}`}
	}},
	{"form", func(s string) exchange {
		return exchange{header: formType, body: "grant=x&text=" + url.QueryEscape("use "+s+" for it") + "&b=2"}
	}},
	{"stream", func(s string) exchange {
		form := `data: {"choices":[{"delta":{"content":"TEXT"},"index":0}]}` + "\n\n"
		return exchange{gotHeader: eventsType, gotBody: deltas(form, "The key is "+s+" there.", 5) + "data: [DONE]\n\n"}
	}},
	{"JSON that is cut", func(s string) exchange {
		return exchange{gotHeader: "Content-Encoding: gzip\n", gotBody: gzipped(`{"a":[{"log":` + quoted("found "+s+"\n") + `,"b`)}
	}},
}

// Generated secrets of the known forms are never written to disk, at any place. A recording either
// redacts a secret or fails.
func TestGeneratedSecrets(t *testing.T) {
	rnd := rand.New(rand.NewPCG(19, 3))
	type count struct{ all, redacted, failed, missed int }
	counts := map[string]*count{}
	missed := 0
	for n := range *secrets {
		form := secretForms[n%len(secretForms)]
		in := secretContexts[(n%len(secretForms)+n/len(secretForms))%len(secretContexts)]
		secret := generated(rnd, form)
		c := counts[in.name]
		if c == nil {
			c = &count{}
			counts[in.name] = c
		}
		c.all++
		failed, onDisk := recordSecret(t, plant{in.name, in.make}.with(secret), secret, n)
		switch {
		case onDisk:
			c.missed++
			missed++
			t.Logf("missed: %s in %s", form, in.name)
		case failed:
			c.failed++
		default:
			c.redacted++
		}
	}
	for _, in := range secretContexts {
		if c := counts[in.name]; c != nil {
			t.Logf("| %s | %d | %d | %d | %d |", in.name, c.all, c.redacted, c.failed, c.missed)
		}
	}
	t.Logf("%d of %d secrets of %d forms are on disk", missed, *secrets, len(secretForms))
	if missed*200 > *secrets {
		t.Errorf("%d of %d secrets are on disk, want at most 0.5 %%", missed, *secrets)
	}
}

// recordSecret records an exchange, and reports whether the recording failed because of a suspected
// secret, and whether the secret is on disk.
func recordSecret(t *testing.T, x exchange, secret string, n int) (failed, onDisk bool) {
	t.Helper()
	path := secretPath(t, n)
	c, err := Open(path, &Options{Mode: Record, Transport: x, Now: fixedTime})
	if err != nil {
		t.Fatal(err)
	}
	if _, live, err := x.ask(t, c); live != x.gotBody || err != nil {
		t.Fatalf("the client got %q, %v", live, err)
	}
	written, err := os.ReadFile(JournalPath(path))
	if err != nil {
		t.Fatal(err)
	}
	err = c.Close()
	if failed = errors.As(err, new(*redact.SecretError)); err != nil && !failed {
		t.Fatal(err)
	}
	if failed {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error has the secret %s: %v", secret, err)
		}
		return true, contains(string(written), secret)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := Parse(path, text)
	if err != nil {
		t.Fatal(err)
	}
	on, err := f.Interaction(0)
	if err != nil {
		t.Fatal(err)
	}
	return false, slices.ContainsFunc(append(texts(on), string(written), string(text)), func(text string) bool { return contains(text, secret) })
}

// fixedTime is the time of recordings: the digits of another one, or of a checksum of it, can be those of a secret.
func fixedTime() time.Time { return time.Unix(1e9, 0) }

// secretPath returns the path of a recording of secrets.
func secretPath(t *testing.T, n int) string {
	t.Helper()
	dir := *secretsDir
	if dir == "" {
		dir = t.TempDir()
	}
	return filepath.Join(dir, fmt.Sprintf("%s-%05d.tape", regexp.MustCompile(`\W+`).ReplaceAllString(t.Name(), "-"), n))
}

// values are what people choose as passwords, and what programs generate.
var values = []string{"Tr0ub4dor&3", "hunter2-Blue!", "Zq7pw2Lm91xC", "9f86d081884c7d659a2feaa0c55ad015", "kX9#mP2$vL5@", "s3cr3tV4lue", "q7Xz92LmPa8Kd31R"}

// notations returns the usual notations of a name in words.
func notations(words ...string) []string {
	title := func(list []string) (out []string) {
		for _, w := range list {
			out = append(out, strings.ToUpper(w[:1])+w[1:])
		}
		return out
	}
	camel := words[0] + strings.Join(title(words[1:]), "")
	return []string{
		strings.Join(words, "_"), strings.Join(words, "-"), camel, strings.Join(title(words), ""), strings.Join(title(words), "-"),
		strings.ToUpper(strings.Join(words, "_")), "my_" + strings.Join(words, "_"), strings.Join(words, "_") + "_prod", "db" + strings.Join(title(words), ""),
		strings.Join(words, "_") + "2", camel + "1",
	}
}

// A value after a name that contains a word for a secret is redacted, in each notation.
func TestTellingNames(t *testing.T) {
	missed, all := 0, 0
	for _, words := range []string{
		"token", "access token", "bot token", "csrf token", "device token", "secret", "client secret", "shared secret", "secret value", "password", "passwd", "pass",
		"passphrase", "passcode", "user password", "password hash", "pwd", "otp", "otp code", "credential", "credentials", "session token", "session secret", "cookie",
		"auth", "auth code", "basic auth", "authorization", "webhook signature", "api key", "apikey", "private key", "signing key", "encryption key", "access key", "master key",
		"license key", "account key", "service account key", "connection string", "jwt", "bearer", "recovery code", "backup code", "pin code", "user pin",
		"pw", "wifi psk", "dbpass", "auth string", "conn str", "private key pem", "wifi key", "pin number", "admin pw", "github pat", "one time code", "sign key", "userpwd", "csrf", "privkey",
	} {
		for i, name := range notations(strings.Fields(words)...) {
			value := values[(all+i)%len(values)]
			if strings.Contains(words, "pin") {
				value = "4711"
			}
			all++
			body, err := json.Marshal(map[string]any{"model": "m", "a": []any{map[string]string{name: value}}})
			if err != nil {
				t.Fatal(err)
			}
			if _, onDisk := recordSecret(t, plant{make: func(string) exchange { return exchange{header: jsonType, body: string(body)} }}.with(""), value, all); onDisk {
				missed++
				t.Errorf("%s is on disk", body)
			}
		}
	}
	t.Logf("%d of %d values are on disk", missed, all)
}

package cassettes

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/looptape/looptape/cassettes/recording"
	"github.com/looptape/looptape/cassettes/redact"
)

// A value that words name as a secret is redacted in sentences, Markdown, HTML, command lines, and under the
// names that some vendors use.
func TestLabeledSecrets(t *testing.T) {
	answer := func(text string) exchange {
		return exchange{gotHeader: jsonType, gotBody: `{"x":` + quoted(text) + `}`}
	}
	ask := func(text string) exchange { return exchange{header: jsonType, body: prompt(text)} }
	raw := func(text string) exchange { return exchange{gotHeader: jsonType, gotBody: text} }
	page := func(text string) exchange { return exchange{gotHeader: "Content-Type: text/html\n", gotBody: text} }
	n := 0
	for form, in := range map[string]func(string) exchange{
		`invalid password '%s' for user me`:                                 answer,
		`Incorrect API key provided: "%s".`:                                 answer,
		`Incorrect API key provided: %s. You can find yours at example.com`: answer,
		"the access token `%s` expired":                                     answer,
		"the password is \"%s\"":                                            answer,
		"| name | value |\n|---|---|\n| password | %s |\n| user | me |":     ask,
		"| **API key** | `%s` |":                                            ask,
		"**Password:** %s\n":                                                ask,
		"**API key**: `%s`\n":                                               ask,
		"mysql --password %s -u me":                                         ask,
		`<input type="hidden" name="csrf_token" value="%s">`:                page,
		`<INPUT value='%s' type=hidden name=authenticity_token>`:            answer,
		`<meta name="csrf-token" content="%s">`:                             page,
		`<input type="password" name="q" value="%s">`:                       page,
		`<input name="q" type=password value=%s>`:                           page,
		`<tr><th>Password</th> <td class="x"><code>%s</code></td></tr>`:     page,
		`Fastly-Key: %s`:                                                    func(s string) exchange { return exchange{header: s + "\n"} },
		"machine api.example.com login ann password %s":                     ask,
		"machine api.example.com\n  login ann\n  password %s\n":             ask,
		`a netrc: "machine a.example\n  login ann\n  password %s\n"`:        ask,
		"curl -s -u ann:%s https://api.example.com/v1":                      ask,
		"curl \\\n  --user 'ann:%s' https://api.example.com/v1":             ask,
		"curl --user=ann:%s https://api.example.com/v1":                     ask,
		"curl -u \"ann\":\"%s\" https://api.example.com/v1":                 ask,
		"os.environ['API_KEY'] = '%s'":                                      ask,
		"$config['db'][\"password\"] = '%s';":                               ask,
		"let api_key: &str = \"%s\";":                                       ask,
		"const password: string = '%s'":                                     ask,
		"var apiKey string = \"%s\"":                                        answer,
		"db:\n  password: |\n    %s\n":                                      ask,
		"password: >-\n  %s\n":                                              answer,
		"> Cookie: theme=dark; session=%s\n> Host: x":                       ask,
		"docker login -u ann -p %s registry.example.com":                    ask,
		"redis-cli -h db -a %s ping":                                        ask,
		`{"args":["--user","ann","--password","%s"]}`:                       answer,
		"export BUNDLE_GEMS__EXAMPLE__COM=ann:%s":                           ask,
		`<add key="ApiPassword" value="%s" />`:                              page,
		`<property name="hibernate.password" value="%s"/>`:                  page,
		"apiVersion: v1\nkind: Secret\ndata:\n  x: a\n  config: %s\n":       ask,
		"stringData:\n  my.conf: |\n    %s\nkind: Secret\n---\nkind: Pod":   answer,
		`{"data":{"x":"%s"},"kind":"Secret"}`:                               answer,
		`{"items":[{"kind": "Secret","stringData":{"x":"%s"}}]}`:            answer,
		"curl -uann:%s https://api.example.com/v1":                          ask,
		"http -a ann:%s https://api.example.com/v1":                         ask,
		"curl -b 'theme=dark; session=%s' https://api.example.com/v1":       ask,
		"curl --cookie session=%s https://api.example.com/v1":               ask,
		"ann:%s@tcp(db.example.com:3306)/shop":                              ask,
		"db.example.com:5432:shop:ann:%s\n*:*:*:bob:x":                      ask,
		"jdbc:oracle:thin:ann/%s@db.example.com:1521:shop":                  ask,
		`apiKey := "%s"`:                                     ask,
		`'password' => '%s',`:                                ask,
		`:password => '%s'`:                                  answer,
		"const apiKey = `%s`;":                               ask,
		`define('DB_PASSWORD', '%s');`:                       ask,
		`props.setProperty("password","%s");`:                ask,
		`{"code": "props.setProperty(\"password\", \"%s\");`: ask,
		"FROM x\nENV DB_PASSWORD %s\nRUN y\n":                ask,
		"set -x API_TOKEN %s":                                ask,
		"setx API_TOKEN %s":                                  ask,
		"mysql -uroot -p%s shop":                             ask,
		"sshpass -p '%s' ssh ann@example.com":                ask,
		`CREATE USER 'a' IDENTIFIED BY '%s';`:                ask,
		`Authentication: %s`:                                 func(s string) exchange { return exchange{header: s + "\n"} },
		`{"PHPSESSID":"%s"}`:                                 answer,
		`{"JSESSIONID":"%s"}`:                                answer,
		`{"connect.sid":"%s"}`:                               answer,
		`{"secrets":{"db":"%s"}}`:                            answer,
		`{"credentials":{"a":[{"b":"%s"}]}}`:                 answer,
		`{"cookies":[{"name":"sid","value":"%s"}]}`:          answer,

		`ConvertTo-SecureString "%s" -AsPlainText -Force`:              ask,
		`client.setPassword("%s")`:                                     ask,
		`b.apiKey("%s").build()`:                                       answer,
		`SET PASSWORD FOR 'ann' = '%s'`:                                ask,
		"env:\n- name: DB_PASSWORD\n  value: %s\n":                     ask,
		"[{name: DB_PASSWORD, value: '%s'}]":                           answer,
		`[{"name": "DB_PASSWORD", "value": "%s"`:                       answer,
		`password="""%s"""`:                                            ask,
		`password=b'%s'`:                                               ask,
		`password = r"%s"`:                                             ask,
		`password = @"%s";`:                                            ask,
		`api_key=SecretStr('%s')`:                                      ask,
		`password: String::from("%s"),`:                                ask,
		`password: !vault '%s'`:                                        ask,
		`process.env.API_KEY || '%s'`:                                  ask,
		`process.env.API_KEY ?? "%s"`:                                  ask,
		`ENV['API_KEY'] ||= '%s'`:                                      ask,
		`if (password === "%s")`:                                       ask,
		`if password != '%s':`:                                         ask,
		`<string name="api_key">%s</string>`:                           page,
		`<entry key="password">%s</entry>`:                             answer,
		`<setting name="Password" x="y"><value>%s</value></setting>`:   page,
		"<key>password</key>\n<string>%s</string>":                     page,
		`<password><![CDATA[%s]]></password>`:                          page,
		`<textarea name="secret">%s</textarea>`:                        page,
		`<env name="API_KEY" value="%s"/>`:                             page,
		`<b>Password:</b> %s`:                                          page,
		`<dt>Password</dt><dd>%s</dd>`:                                 page,
		`<li>API key: <code>%s</code></li>`:                            page,
		`password is <b>%s</b>`:                                        page,
		`{"header":"X-Api-Key","value":"%s"}`:                          raw,
		`{"id":"password","label":"Enter it","value":"%s"}`:            raw,
		`{"headers":[["Accept","*/*"],["Authorization","Bearer %s"]]}`: raw,
		`{"rawHeaders":["Host","a.example","X-Api-Key","%s"]}`:         raw,
		`{"fields":[{"type":"password","value":"%s"}]}`:                raw,
		`{"password":{"current":"%s"}}`:                                raw,

		"tool --batch --passphrase %s -d f":                                     ask,
		"tool --token=%s":                                                       ask,
		"tool --auth '%s' --x":                                                  ask,
		"keytool -storepass %s -keypass none":                                   ask,
		"Connect-It -Server x -Password %s":                                     answer,
		"`nuget push a.nupkg -ApiKey %s`":                                       answer,
		"az login --service-principal -u app -p %s --tenant t":                  ask,
		"mongosh -u ann -p %s shop":                                             ask,
		"twine upload -u ann -p %s dist/*":                                      ask,
		"sqlcmd -S db -U sa -P '%s'":                                            ask,
		"unzip -P %s a.zip":                                                     ask,
		"7z x -p%s a.7z":                                                        ask,
		"ssh-keygen -t ed25519 -N \"%s\" -f id":                                 ask,
		"openssl enc -aes-256-cbc -k %s":                                        ask,
		"smbclient //db/share -U ann%%%s":                                       ask,
		"gh secret set DEPLOY --body %s":                                        ask,
		"vault login %s":                                                        ask,
		"poetry config pypi-token.pypi %s":                                      ask,
		"requirepass %s":                                                        ask,
		"htpasswd -nb ann %s":                                                   ask,
		"echo '%s' | docker login -u ann --password-stdin":                      ask,
		"echo \"ann:%s\" | sudo chpasswd":                                       ask,
		"aws configure set aws_secret_access_key %s":                            ask,
		"git config --global github.token %s":                                   answer,
		"CONFIG SET requirepass %s":                                             ask,
		"mysqladmin -u root password %s":                                        ask,
		"ALTER USER ann IDENTIFIED BY %s":                                       ask,
		"CREATE LOGIN ann WITH PASSWORD = N'%s'":                                ask,
		"UPDATE users SET password = crypt('%s', gen_salt('bf'))":               ask,
		"INSERT INTO users (id, `password`, name) VALUES\n(1, '%s', 'a, (b)');": answer,
		"insert into t(name,token) values ('x','y'), ('ann', '%s')":             ask,
		"user,password,role\nbob,none,user\nann,%s,admin\n":                     answer,
		"\"user\";\"API key\"\r\n\"a; b\";\"%s\"\r\n":                           ask,
		"text\nname\ttoken\nann\t%s\nend":                                       answer,
	} {
		for _, value := range values {
			n++
			x := in(fmt.Sprintf(form, value))
			if failed, onDisk := recordSecret(t, plant{make: func(string) exchange { return x }}.with(""), value, n); failed || onDisk {
				t.Errorf("%s with %s: failed: %t, on disk: %t", form, value, failed, onDisk)
			}
		}
	}
	for _, form := range []string{`{"auths":{"https://x.example/":{"auth":"%s"}}}`, "_auth=%s", "//x.example/:_auth=\"%s\""} { // of Docker and npm
		value := base64.StdEncoding.EncodeToString([]byte("ann:Tr0ub4dor&3"))
		x := answer(fmt.Sprintf(form, value))
		if _, onDisk := recordSecret(t, plant{make: func(string) exchange { return x }}.with(""), value, 1001); onDisk {
			t.Errorf("%s: the value is on disk", form)
		}
	}
	for _, query := range []string{"appid", "APPID"} {
		value := "9f86d081884c7d659a2feaa0c55ad015"
		if _, onDisk := recordSecret(t, exchange{url: endpoint + "?q=x&" + query + "=" + value}, value, 1000); onDisk {
			t.Errorf("the value of %s is on disk", query)
		}
	}
}

// Text about secrets is not changed.
func TestLabeledWordsStay(t *testing.T) {
	for _, text := range []string{
		"set the secret `AWS_S3_SECRET` and the API key `OPENAI_API_KEY2`", `Unexpected token 'abc12x' in JSON`, "the token `utf8mb4` and the key 'user12'",
		"the password is 'required', the password \"correct\" and password 'v1.2.3'", "| password | string | 12 |\n| token | required |", "| max tokens | 4096a |", "| key | x86_64 |",
		"**Tokens:** 123 **Key 2** item3 **Secret Santa** 2024", "--token-count a12b34c --password $PASS2 --auth-type oauth2 --no-password x86", "--password-file secret1.txt",
		`<input name="password" type="password">`, `<input name="q" value="abc123">`, `<meta name="viewport" content="width=device-width2">`, `<input type=password value="">`,
		`<td>Token</td><td>gpt4o</td><td>Password</td><td>none</td>`, `<td>Public key</td><td>Zq7pw2Lm91xC</td>`, "API keys provided: none. token provided: 3", "the page token 'q7Xz92LmPa8Kd31R'",
		"it's the password's 'use1' of `",
		"login and password for user ann1, machine 2b", "machine learning login flow, password reset v2",
		"curl -u ann https://api.example.com:8443/v2", "curl -u $USER:$PASS2 https://api.example.com", "docker run -u user1:group1 image", "curl -o a -b cookies.txt https://a.example/b?x=y1",
		"ann@tcp(db:3306)/shop1", "a.go:1234:12:func1:abc", "2024-11-12:1234:a1:b2", "jdbc:oracle:thin:@db.example.com:1521:shop1", `name := "value12"`, `'password' => 'required|min:8'`, `'password' => ['required'], 'user' => 'ann123'`,
		`users.map(password => password.length > 8)`, "const url = `a1b2c3`", `f("password", "the new one, 8 letters")`, `setProperty("user", "ann123")`, `define('DB_HOST', 'db1.example.com')`, "ENV PATH /a1/b2", "ENV API_TOKEN $TOKEN1",
		"kind: ConfigMap\ndata:\n  x: cGFzc3dvcmQ1\n", `{"kind":"ConfigMap","data":{"x":"cGFzc3dvcmQ1"}}`, "kind: Secret\nmetadata:\n  name: a1b2c3d4\n", `<add key="version" value="1.2.3a" />`,
		`{"access":"read2write","refresh":"30s"}`, "BUNDLE_PATH=vendor/a1:b2",
		`{"args":["--password-file","a1b2c3d4","--token","none","a1b2c3d4e5"]}`, "docker run -p 8080:80 image2a", `const kind: string = "gpt4o2b"`, "let token: Option<String> = \"none\"", "tokens: |\n  a1b2 c3", "Cookie: consent=true; lang=en",
		"words['KEY'] = 'a1b2c3'", "password: none\npassword: abc", `{"auth":"dXNlcjpwYXNz"}`, "costs $1$2$3, $5$ and $6$x",
		"set -x -e", "set -x PATH /usr/bin1", "setx PATH c1d2e3f4", "mysql -u root -p -h db1", "sshpass -p $PASS1 ssh a", "identified by version2.1 of the parser, identified by '2'", `{"tokens":["Hello","gpt4o",123456,{"id":"a1b2c3d4e5"}],"usage":{"tokens":{"in":123456}}}`,
		`{"secrets":{"username":"ann123","host":"db1.example.com","count":123456,"note":"two words 12"},"properties":{"secrets":{"default":"v2beta1x","$ref":"#/definitions/V1Secret"}}}`, "|", "||", "'", "| password |", "password '", "**password**", "<input", "<input value=", "--password",
		`getPassword("user1234")`, `t.token == "a1b2c3"`, `if version == 'v1.2.3'`, `password === "required"`, `f.hashToken("Test 1234")`, `password = password.encode("latin1")`, "an exact pin like `name@1.2.3`", "- name: DB_HOST\n  value: db1a.example.com\n", "- name: DB_PASSWORD\n  valueFrom: a1b2c3\n",
		`<string name="title">a1b2c3d4</string>`, `<b>Password:</b> required`, `<dt>Version</dt><dd>a1b2c3</dd>`, `<li>API key: <code>OPENAI_API_KEY2</code></li>`, `{"id":"user1","value":"a1b2c3d4"}`, `{"headers":[["Accept","a1b2c3"],["X-Version-Key-Id","a1b2c3"]]}`,
		`{"password":{"type":"string","example1":"two words 12","min":123456}}`,
		"tool --token $TOKEN1 --password --api-key YOUR_API_KEY --secret <secret1> --auth none", "non-token a1b2c3, pre-auth v2beta1x, a -key a1b2c3", "--token-count a1b2c3 --max-tokens 4k2x --page-token a1b2c3 --auth-mode a1b2c3",
		"az group list -p a1b2c3, mkdir -p a1b2c3", "zip -r a1b2c3.zip b, unzip a1b2c3.zip", "7z x a1b2c3.7z", "ssh-keygen -f a1b2c3", "vault login -method=userpass, vault login is a1b2c3", "echo a1b2c3 | tee b", "git config user.name ann123",
		"aws configure set region us-east-1a", "identified by a1b2c3 of the user", "user,password\nrequired,required\n", "user,password\na1b2c3\n", "The user, the password and more\na1b2c3, b1c2d3, c1d2e3\n", "user,password\n\na1,b1c2d3\n", "id,count\n1,a1b2c3\n",
		"INSERT INTO users (name, password) VALUES ($1, $2), ('ann1234', NULL)", "INSERT INTO t (password) VALUES (", "INSERT INTO t (password, x) VALUES ('a1b2c3", "user,password",
	} {
		got := (&redact.Rules{}).Redacted(&recording.Interaction{Response: recording.Response{Body: []byte(text)}})
		if body := string(got.Response.Body); body != text {
			t.Errorf("got  %s\nwant %s", body, text)
		}
	}
	long := strings.Repeat("| password '", 100_000)
	if got := (&redact.Rules{}).Redacted(&recording.Interaction{Response: recording.Response{Body: []byte(long)}}); string(got.Response.Body) != long {
		t.Error("the long text is changed")
	}
}
